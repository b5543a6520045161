/** The example of the issue and of the docs, as YAML. */
export const releaseYaml = `
name: release
parameters: { version: { type: string, required: true }, regions: { type: array } }
vars: { image: null }
tasks:
  - name: build
    action: ci.build                       # a registered task, a workflow, or core.*
    input: { version: "{{ parameters.version }}" }
    retry: { count: 3, delay: 5s, backoff: exponential, max_delay: 60s, when: "{{ error.code != 'BadInput' }}" }
    timeout: 10m
    next:
      - when: "{{ succeeded() }}"
        publish: { image: "{{ result().image }}" }
        do: [scan, process_items]
      - when: "{{ failed() || timed_out() }}"
        do: report
  - name: process_items
    action: ops.deploy
    with_items: "{{ parameters.regions }}"
    concurrency: 3
    input: { region: "{{ item }}", n: "{{ index }}" }
    next: [{ when: "{{ succeeded() }}", do: validate }]
  - name: scan
    action: ci.scan
    next: [{ do: validate }]
  - name: validate
    join: all
    action: core.echo
  - name: report
    action: core.echo
output: { image: "{{ vars.image }}" }
`
