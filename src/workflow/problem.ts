/** The keys and positions that lead to a value of the data, from its root. */
export type Path = readonly (string | number)[]

/** A piece of one line of a file, counted from 1. */
export interface Span {
  readonly line: number
  readonly column: number
  readonly length: number
}

/** Where the values of the data stand in the file that they were read from. */
export interface Places {
  value(path: Path): Span | undefined
  key(path: Path): Span | undefined
  /** Of a part of the text at this path, given in characters of the text, whatever quotes and folds it has in the file. */
  within(path: Path, offset: number, length: number): Span | undefined
}

/** What is wrong with a definition, and where. */
export interface Problem {
  /** Such as `tasks.build.next[0].do`. */
  readonly path: string
  readonly line?: number
  readonly column?: number
  /** How many characters of the line it is about. */
  readonly length?: number
  /** For an expression, whose place may be in no file. */
  readonly expression?: { readonly source: string; readonly offset: number; readonly length: number }
  readonly message: string
  readonly hint?: string
}

/** Gathers all that is wrong, so that nobody has to mend a definition one error at a time. */
export class ProblemLog {
  readonly problems: Problem[] = []
  readonly #data: unknown
  readonly #places: Places | undefined

  constructor(data: unknown, places: Places | undefined) {
    this.#data = data
    this.#places = places
  }

  addAtSpan(path: Path, span: Span | undefined, message: string, hint?: string): void {
    this.#add(path, span, message, hint)
  }

  addAtValue(path: Path, message: string, hint?: string): void {
    this.#add(path, this.#places?.value(path), message, hint)
  }

  addAtKey(path: Path, message: string, hint?: string): void {
    this.#add(path, this.#places?.key(path), message, hint)
  }

  addWithin(path: Path, expression: NonNullable<Problem['expression']>, message: string, hint?: string): void {
    this.#add(path, this.#places?.within(path, expression.offset, expression.length), message, hint, expression)
  }

  #add(path: Path, span: Span | undefined, message: string, hint?: string, expression?: Problem['expression']): void {
    this.problems.push({
      path: pathText(path, this.#data),
      ...span,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...(expression === undefined ? {} : { expression }),
    })
  }
}

/**
 * In the order of the file; where there is none, as they were found. What stands behind an alias is found once for each
 * use of it, and told once.
 */
export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  const line = (problem: Problem) => problem.line ?? 0
  const column = (problem: Problem) => problem.column ?? 0
  const identity = (problem: Problem) => JSON.stringify([line(problem), column(problem), problem.message])
  const once = new Map(problems.map((problem) => [problem.line === undefined ? problem : identity(problem), problem]))
  return [...once.values()].toSorted((a, b) => line(a) - line(b) || column(a) - column(b))
}

/** `tasks.build.next[0].do`: tasks by their names, which say more than their positions. */
function pathText(path: Path, data: unknown): string {
  let text = ''
  path.forEach((key, i) => {
    const name = i === 1 && path[0] === 'tasks' && typeof key === 'number' ? taskName(data, key) : key
    if (typeof name === 'number') text += `[${name}]`
    else if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name)) text += text === '' ? name : `.${name}`
    else text += `[${JSON.stringify(name)}]`
  })
  return text
}

function taskName(data: unknown, index: number): string | number {
  const tasks = (data as { tasks?: readonly ({ name?: unknown } | null)[] } | undefined)?.tasks
  const name = tasks?.[index]?.name
  return typeof name === 'string' && name !== '' ? name : index
}
