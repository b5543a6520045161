import { type CharacterClass, type Instruction, parsePattern, type Spend } from './pattern-parser.js'

/**
 * Regular expressions that cannot run away. Those of JavaScript try one way after the other, and (a+)+$ on thirty a’s
 * takes longer than anyone waits; here all ways are followed at once, character by character, so a text costs at most
 * its length times the size of the pattern. What cannot be done that way, back references and looking around, is
 * refused. The syntax and its meaning are those of RE2: docs/reference/expressions.md has the list.
 */
export class Pattern {
  readonly #program: readonly Instruction[]

  /** Throws a PatternError. `spend` is told the steps as they are made. */
  constructor(source: string, spend: Spend) {
    this.#program = parsePattern(source, spend)
  }

  /** Whether it is found anywhere in the text. */
  foundIn(text: string, spend: Spend): boolean {
    const program = this.#program
    const reachedAt = new Int32Array(program.length).fill(-1)
    let states: number[] = []
    let position = 0
    const reach = (state: number, atEnd: boolean): void => {
      const open = [state]
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        if (reachedAt[at] === position) continue
        reachedAt[at] = position
        const instruction = program[at] as Instruction
        if (instruction.kind === 'either') for (const jump of instruction.jumps) open.push(at + jump)
        else if (instruction.kind === 'edge') {
          if (instruction.start ? position === 0 : atEnd) open.push(at + 1)
        } else states.push(at)
      }
    }
    spend(text.length)
    const characters = Array.from(text)
    for (;;) {
      const atEnd = position === characters.length
      reach(0, atEnd) // a match may begin at every character
      spend(2 * states.length)
      const now = states
      if (now.some((state) => program[state]?.kind === 'found')) return true
      if (atEnd) return false
      const character = (characters[position] as string).codePointAt(0) as number
      position++
      states = []
      const atNextEnd = position === characters.length
      for (const state of now) {
        const instruction = program[state]
        if (instruction?.kind === 'one' && matches(instruction.of, character)) reach(state + 1, atNextEnd)
      }
    }
  }
}

function matches({ ranges, negated }: CharacterClass, character: number): boolean {
  for (const [from, to] of ranges) if (character >= from && character <= to) return !negated
  return negated
}
