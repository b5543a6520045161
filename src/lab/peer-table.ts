import { peerNames } from './peer-catalogue.js'
import type { PeerResult } from './peer-result.js'

const [begin, end] = ['<!-- results: begin (written by `npm run comparison`; do not edit) -->', '<!-- results: end -->']

/** What `docs/comparison.md` says of the results: the versions, a table of verdicts, and a sentence for each of them. */
export function comparisonLines(results: readonly PeerResult[]): string[] {
  const peers = peerNames.filter((peer) => results.some((result) => result.peer === peer))
  const ids = [...new Set(results.map(({ id }) => id))]
  const cell = (id: string, peer: string) => results.find((result) => result.id === id && result.peer === peer)
  const dates = results.map(({ date }) => date).sort()
  const [first, last] = [dates[0], dates.at(-1)]
  return [
    `Played ${first === last ? `on ${first}` : `from ${first} to ${last}`}.`,
    '',
    '| | version | server | holds | broken | not expressible |',
    '| --- | --- | --- | ---: | ---: | ---: |',
    ...peers.map((peer) => {
      const own = results.filter((result) => result.peer === peer)
      const count = (verdict: RegExp) => own.filter((result) => verdict.test(result.verdict)).length
      const versions = [...new Set(own.map(({ version }) => version))].join(', ')
      const servers = [...new Set(own.map(({ server }) => server))].join(', ')
      return `| ${peer} | ${versions} | ${servers} | ${count(/^holds/)} | ${count(/broken/)} | ${count(/^not/)} |`
    }),
    '',
    `| failure mode | ${peers.join(' | ')} |`,
    `| --- | ${peers.map(() => '---').join(' | ')} |`,
    ...ids.map(
      (id) =>
        `| [${id}](#${anchor(id)}) ${results.find((result) => result.id === id)?.name} | ${peers.map((peer) => shown(cell(id, peer))).join(' | ')} |`,
    ),
    '',
    ...ids.flatMap((id) => {
      const of = results.filter((result) => result.id === id)
      return [
        `### ${id}`,
        '',
        `**${of[0]?.name}.** ${sentence(of[0]?.story ?? '')}`,
        '',
        ...of.flatMap((result) => [
          `- **${result.peer}**: ${result.verdict}. ${sentence(result.seen)}`,
          ...settings(result),
        ]),
        '',
      ]
    }),
  ].slice(0, -1)
}

/** The page with its part on the results renewed. */
export function withComparison(page: string, results: readonly PeerResult[]): string {
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('the page has no place for the results')
  return [before, begin, '\n\n', comparisonLines(results).join('\n'), '\n\n', end, after].join('')
}

function shown(result: PeerResult | undefined): string {
  if (!result) return '–'
  return result.verdict === 'not expressible' ? 'n/e' : result.verdict.replace(/^(.*broken)/, '**$1**')
}

function settings({ settings: list }: PeerResult): string[] {
  return list.length === 0 ? [] : [`  <br>${list.map((each) => `\`${each}\``).join(' · ')}`]
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function anchor(id: string): string {
  return id.toLowerCase()
}
