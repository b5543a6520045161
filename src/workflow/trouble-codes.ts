/**
 * Codes that a run or a task run stores in its `error`, beside those of the errors that handlers throw. A workflow can ask
 * for them: `{{ error.code == 'FP_TIMED_OUT' }}`. docs/reference/errors.md is generated from this file, too.
 */
export const troubleCodes = {
  FP_TIMED_OUT: 'The handler, the wait or the sub-workflow took longer than the timeout of its task.',
  FP_NOT_ANSWERED: 'Nobody answered before the question expired.',
  FP_CANCELLED: 'The task was cancelled, or one of its items was.',
  FP_EXPRESSION: 'An expression failed; `place` shows where.',
  FP_CORE_FAIL: '`core.fail`, without a code of its own.',
  FP_ITEMS_FAILED: 'Some items of the task did not succeed; `item` is the first.',
  FP_ITEMS_NO_LIST: '`with_items` is not a list.',
  FP_ITEMS_UNEVEN: 'The lists of `with_items` have different lengths.',
  FP_ITEMS_TOO_COSTLY: 'The inputs of a list, of an action that needs no worker, take too long to tell.',
  FP_WORKFLOW_PARAMETERS: 'The input of a sub-workflow does not fit its parameters, or there is no such workflow.',
  FP_JOIN_UNMET: 'A join can no longer be met; the message names the missing edges.',
  FP_RUN_FAILED: '`do: fail`, or a run that was waited for did not succeed.',
  FP_RUN_TIMED_OUT: 'The run took longer than its timeout.',
  FP_RUN_CANCELLED: 'The run was cancelled.',
  FP_RUN_STOPPED: 'The task waited for something when its run stopped.',
  FP_RUN_TOO_LONG: 'The run has begun more tasks than a run may: a cycle that never ends.',
  FP_RUN_TOO_DEEP:
    'Sub-workflows are deeper in each other than they may be: one that calls itself. The message names them.',
  FP_RUN_NOT_STORABLE: 'The database refuses to store what the run came to.',
  FP_ADVANCE_LOST:
    'The run was taken up 20 times in a row by processes that died or failed before they could advance it.',
} as const satisfies Record<string, string>
