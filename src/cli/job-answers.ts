import { FencepostError } from '../errors.js'
import type { Controlled } from '../store/control.js'
import type { GlobalOptions } from './global-options.js'

/** Every job's answer, then an error if some job does not exist: what could be done has been done, and is told. */
export function printAnswers<Answer extends string>(
  answers: readonly Controlled<Answer>[],
  explain: (answer: Controlled<Answer>) => string,
  { json }: GlobalOptions,
): void {
  if (json) {
    console.log(JSON.stringify(answers.map(({ jobId, answer, outcome }) => ({ id: jobId, answer, outcome }))))
  } else {
    for (const answer of answers) console.log(`${answer.jobId} ${explain(answer)}`)
  }
  const missing = answers.filter(({ answer }) => answer === 'missing').map(({ jobId }) => jobId)
  if (missing.length > 0) throw new FencepostError('FP_JOB_UNKNOWN', missing.join(', '))
}
