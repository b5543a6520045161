import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pattern } from '../../src/workflow/expression/pattern.js'
import { PatternError } from '../../src/workflow/expression/pattern-parser.js'

const free = () => undefined
const found = (pattern: string, text: string) => new Pattern(pattern, free).foundIn(text, free)

describe('a pattern', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['', ['', 'a'], []],
    ['b', ['abc'], ['a', '']],
    ['^b', ['b'], ['ab']],
    ['b$', ['ab'], ['ba']],
    ['^$', [''], ['a']],
    ['^a|b$', ['ax', 'xb'], ['xax']],
    ['^(a|b)$', ['a', 'b'], ['ab']],
    ['^(?:ab)+$', ['abab'], ['aba']],
    ['^a?b*c+$', ['c', 'abbcc'], ['ab', 'aac']],
    ['^a{2}$', ['aa'], ['a', 'aaa']],
    ['^a{2,}$', ['aa', 'aaaa'], ['a']],
    ['^a{1,3}$', ['a', 'aaa'], ['', 'aaaa']],
    ['^a{0}$', [''], ['a']],
    ['^(a{2}){2}$', ['aaaa'], ['aaa']],
    ['^[a-c_]+$', ['abc_'], ['abd']],
    ['^[^a-c]$', ['d', '👍', '\n'], ['b', 'de']],
    ['^[-a]+$', ['-a'], ['b']],
    ['^[a-]+$', ['-a'], ['b']],
    ['^[\\d.\\]]+$', ['1.2]'], ['a']],
    ['^\\d+\\.\\d+$', ['1.25'], ['1x2', '٣.1']],
    ['^\\w+\\s\\W\\S\\D$', ['ab_1 -xx'], ['ab_1 -x1']],
    ['^.$', ['a', '👍', '\r'], ['\n', 'ab', '']],
    ['^\\(\\{\\}\\)\\\\$', ['({})\\'], ['x']],
    ['^a\\tb\\n$', ['a\tb\n'], ['atbn']],
    ['^(a*)*$', ['', 'aaa'], ['b']],
    ['^(a|a?)+$', ['', 'aaa'], ['b']],
    ['^(^a$)$', ['a'], ['aa']],
    ['a$b', [], ['ab', 'a\nb']],
    ['^a+?b??$', ['aa', 'ab'], ['abb']],
    ['👍{2}', ['👍👍'], ['👍']],
    ['(|a)b', ['b'], ['a']],
    ['^[a-a]$', ['a'], ['b', '-']],
    ['^(a)(a)(a)$'.replaceAll('(a)', '(a)'.repeat(20)), ['a'.repeat(60)], ['a'.repeat(59)]],
    [`^${'('.repeat(50)}a${')'.repeat(50)}$`, ['a'], ['b']],
    ['a'.repeat(999), ['a'.repeat(999)], ['a'.repeat(998)]],
    ['^(a{0,10}){2}$', ['', 'a'.repeat(20)], ['a'.repeat(21)]],
  ])('%s', (pattern, yes, no) => {
    expect(yes.filter((text) => !found(pattern, text))).toEqual([])
    expect(no.filter((text) => found(pattern, text))).toEqual([])
  })

  it.each<[string, string]>([
    ['(a', 'a ( is not closed'],
    ['a)', ') without ('],
    ['[a', 'a [ is not closed'],
    ['[]', '[ ] is empty; ] itself is written \\]'],
    ['[[a]', '[ in [ ] is written \\['],
    ['[b-a]', 'a range in [ ] goes from more to less'],
    ['[\\d-z]', 'a range in [ ] is from one character to another'],
    ['[\\D]', '\\D, \\W and \\S cannot stand in [ ]'],
    ['*a', 'there is nothing before * that it could repeat'],
    ['?', 'there is nothing before ? that it could repeat'],
    ['{2}', '{ itself is written \\{'],
    ['a{x{2}', 'after { come one or two numbers, as in {3} or {1,5}; { itself is written \\{'],
    ['[a-\\d]', 'a range in [ ] is from one character to another'],
    ['[\\w-a]', 'a range in [ ] is from one character to another'],
    ['a|+', 'there is nothing before + that it could repeat'],
    ['a**', 'a repetition cannot be repeated: put it in ( )'],
    ['a{2}{3}', 'a repetition cannot be repeated: put it in ( )'],
    ['a{x}', 'after { come one or two numbers, as in {3} or {1,5}; { itself is written \\{'],
    ['a{3,2}', '{3,2} goes from more to less'],
    ['a}', '} itself is written \\}'],
    ['a]', '] itself is written \\]'],
    ['a{', 'after { come one or two numbers, as in {3} or {1,5}; { itself is written \\{'],
    ['\\', 'it ends with a single \\'],
    ['(a)\\1', '\\1 is not known'],
    ['\\bword', '\\b is not known'],
    ['\\p{L}', '\\p is not known'],
    ['(?=a)', 'of the groups that begin with (? only (?: is known: there is no looking around, no flag'],
    ['(?<!a)b', 'of the groups that begin with (? only (?: is known: there is no looking around, no flag'],
    ['(?i)a', 'of the groups that begin with (? only (?: is known: there is no looking around, no flag'],
    ['a{1001}', 'it is too large'],
    ['(){1001}', 'it is too large'],
    ['(){0,1001}', 'it is too large'],
    ['(){1001,}', 'it is too large'],
    ['((a{10}){10}){11}', 'it is too large'],
    [`${'('.repeat(60)}a${')'.repeat(60)}`, 'it is too large'],
    ['a'.repeat(1_001), 'it is too large'],
  ])('%s is refused', (pattern, problem) => {
    expect(() => new Pattern(pattern, free)).toThrow(new PatternError(problem))
  })

  it('means what it means in JavaScript', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', 'c', '\\.', '👍', '^', '$')
    const pattern = fc.letrec<{ pattern: string; sequence: string; repeated: string }>((tie) => ({
      repeated: fc
        .tuple(
          fc.oneof({ weight: 4, arbitrary: atom }, { weight: 1, arbitrary: tie('pattern').map((p) => `(${p})`) }),
          fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?'),
        )
        .map(([one, times]) => (one === '^' || one === '$' ? one : one + times)),
      sequence: fc.array(tie('repeated'), { maxLength: 4 }).map((parts) => parts.join('')),
      pattern: fc.oneof(
        tie('sequence'),
        fc.tuple(tie('sequence'), tie('sequence')).map((two) => two.join('|')),
      ),
    })).pattern
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', '👍', '\n'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        expect(found(source, given)).toBe(new RegExp(source, 'u').test(given))
      }),
      { numRuns: 2_000 },
    )
  })

  it('never throws anything but its own error', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('ab()[]{}|*+?^$\\.-,12dD:<=!')), maxLength: 15 }),
        (source) => {
          try {
            found(source, 'ab12')
          } catch (error) {
            expect(error).toBeInstanceOf(PatternError)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
