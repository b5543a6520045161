import { ExpressionError } from '../../src/workflow/expression.js'

/** The ExpressionError that the work ends with; anything else is passed on. */
export function refusal(work: () => unknown): ExpressionError {
  try {
    work()
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
  throw new Error('nothing was refused')
}
