import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkedQueueName,
  isFifoName,
  nameFromArn,
  nameFromUrl,
  queueArn,
  queueUrl,
} from '../../../src/sqs/rules/queue-name.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const validName = fc
  .tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,75}$/), fc.constantFrom('', '.fifo'))
  .map(([stem, suffix]) => stem + suffix)

describe('the name of a queue', () => {
  it.each(['a', 'A-b_9', 'x'.repeat(80), 'orders.fifo', `${'x'.repeat(75)}.fifo`])('may be %s', (name) => {
    expect(checkedQueueName(name)).toBe(name)
  })

  it.each([
    ['x'.repeat(81), 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length'],
    ['a b', 'Can only include alphanumeric'],
    ['a.b', 'Can only include alphanumeric'],
    ['a.fifo.x', 'Can only include alphanumeric'],
    ['ä', 'Can only include alphanumeric'],
    ['a\n', 'Can only include alphanumeric'],
    [`${'x'.repeat(76)}.fifo`, 'must end with .fifo suffix and be 1 to 80 in length'],
    ['.fifo', 'The name of a FIFO queue can only include'],
    ['a.b.fifo', 'The name of a FIFO queue can only include'],
  ])('may not be %j', (name, text) => {
    expect(refusedWith(() => checkedQueueName(name))).toMatch(/^InvalidParameterValueException: /)
    expect(refusedWith(() => checkedQueueName(name))).toContain(text)
  })

  it.each([undefined, ''])('may not be missing: %j', (name) => {
    expect(refusedWith(() => checkedQueueName(name))).toBe(
      'MissingParameterException: The request must contain the parameter QueueName.',
    )
  })

  it('says by its end whether the queue is FIFO', () => {
    expect(['a.fifo', 'a', 'afifo', 'a.FIFO'].map(isFifoName)).toEqual([true, false, false, false])
  })
})

describe('the URL of a queue', () => {
  it('has the account and the name', () => {
    expect(queueUrl('http://localhost:9324', 'mail')).toBe('http://localhost:9324/000000000000/mail')
    expect(queueUrl('http://localhost:9324/', 'mail')).toBe('http://localhost:9324/000000000000/mail')
    expect(queueUrl('https://q.example', 'mail', '123456789012')).toBe('https://q.example/123456789012/mail')
  })

  it.each([
    'http://localhost:9324/000000000000/mail',
    'https://sqs.eu-west-1.amazonaws.com/123456789012/mail',
    'http://queue:9324/queue/mail',
    'http://queue:9324/mail',
    '/000000000000/mail',
    'mail',
  ])('names the queue whatever the host: %s', (url) => {
    expect(nameFromUrl(url)).toBe('mail')
  })

  it.each([
    'http://localhost',
    'http://localhost/',
    'http://localhost/000000000000/',
    'http://localhost/12345678901/mail',
    'http://localhost/a/b/mail',
    'http://localhost/000000000000/ma%20il',
    'http://[broken/000000000000/mail',
    'mailto:mail',
    `http://localhost/000000000000/${'x'.repeat(81)}`,
  ])('is refused without one: %s', (url) => {
    expect(refusedWith(() => nameFromUrl(url))).toMatch(
      /^InvalidAddress: The address .* is not valid for this endpoint\.$/s,
    )
  })

  it.each([undefined, ''])('may not be missing: %j', (url) => {
    expect(refusedWith(() => nameFromUrl(url))).toBe(
      'MissingParameterException: The request must contain the parameter QueueUrl.',
    )
  })

  it('leads back to every name', () => {
    fc.assert(fc.property(validName, (name) => nameFromUrl(queueUrl('http://h:1', name)) === name))
  })

  it('is taken or refused, whatever it is', () => {
    const like = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.string({ minLength: 5_000, maxLength: 6_000 }))
    fc.assert(fc.property(like, (url) => takesOrRefuses(() => nameFromUrl(url))))
    fc.assert(fc.property(like, (name) => takesOrRefuses(() => checkedQueueName(name))))
  })
})

describe('the ARN of a queue', () => {
  it('has the region and the account', () => {
    expect(queueArn('mail')).toBe('arn:aws:sqs:us-east-1:000000000000:mail')
    expect(queueArn('mail', 'eu-west-1', '123456789012')).toBe('arn:aws:sqs:eu-west-1:123456789012:mail')
  })

  it('leads back to every name', () => {
    fc.assert(fc.property(validName, (name) => nameFromArn(queueArn(name)) === name))
    expect(nameFromArn('arn:aws-us-gov:sqs:us-gov-west-1:123456789012:mail')).toBe('mail')
  })

  it.each([
    '',
    'mail',
    'arn:aws:sns:us-east-1:000000000000:mail',
    'arn:aws:sqs:us-east-1:00000000000:mail',
    'arn:aws:sqs:us-east-1:000000000000:',
    'arn:aws:sqs:us-east-1:000000000000:a b',
    'arn:aws:sqs:us-east-1:000000000000:a:b',
    'xarn:aws:sqs:us-east-1:000000000000:mail',
  ])('is not %j', (arn) => {
    expect(nameFromArn(arn)).toBeUndefined()
  })
})
