import type { Shape } from './field.js'

const inNext = 'It belongs to a transition: next: [{ when: "{{ succeeded() }}", do: … }].'
const forward =
  'Tasks name what follows them, not what comes before: name this task in do of the tasks that it waits for, and give it join: all.'

/** What a task may hold. */
export const taskShape: Shape = {
  what: 'a task',
  keys: [
    'name',
    'action',
    'wait_for',
    'input',
    'with_items',
    'batch_size',
    'concurrency',
    'on_item_failure',
    'join',
    'delay',
    'timeout',
    'retry',
    'next',
  ],
  elsewhere: {
    id: 'name',
    uses: 'action',
    run: 'Here it is called action. It names a task that a worker has registered.',
    task: 'action',
    call: 'action',
    type: 'action',
    args: 'input',
    params: 'input',
    parameters: 'input',
    needs: forward,
    depends_on: forward,
    dependsOn: forward,
    after: forward,
    if: 'A condition belongs to the transition that leads here: when, in next of the task before.',
    when: 'A condition belongs to the transition that leads here: when, in next of the task before.',
    do: inNext,
    publish: inNext,
    on_success: 'Write next: [{ when: "{{ succeeded() }}", do: … }].',
    on_error: 'Write next: [{ when: "{{ failed() }}", do: … }].',
    on_failure: 'Write next: [{ when: "{{ failed() }}", do: … }].',
    on_complete: 'Write next: [{ do: … }], without when.',
    retries: 'Write retry: { count: … }.',
    items: 'with_items',
    foreach: 'with_items',
    for_each: 'with_items',
    loop: 'with_items',
    with: 'Here it is called input; a list to work through is with_items.',
    wait: 'Here it is called wait_for; to begin later, use delay.',
    description: 'Only the workflow has a description. Write a comment, which begins with #.',
  },
}
