import { SqsError } from '../../../src/sqs/sqs-error.js'

/** The shape and the message of a refusal, for comparison; undefined if nothing was refused. */
export function refusedWith(run: () => unknown): string | undefined {
  const error = thrownBy(run)
  if (error === undefined) return undefined
  if (!(error instanceof SqsError)) throw error
  return `${error.shape}: ${error.message}`
}

/** For properties: whatever comes in, it is taken or refused, and no answer is too long for a header or breaks XML. */
export function takesOrRefuses(run: () => unknown): boolean {
  const error = thrownBy(run)
  if (error === undefined) return true
  if (!(error instanceof SqsError)) throw error
  return (
    error.message.length < 1_000 &&
    !/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u.test(error.message)
  )
}

function thrownBy(run: () => unknown): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}
