import { describe, expect, it } from 'vitest'
import { md5OfAttributes, md5OfBody } from '../../../src/sqs/wire/message-md5.js'

describe('the MD5 of a message', () => {
  it('is that of the bytes of its body', () => {
    expect(md5OfBody('')).toBe('d41d8cd98f00b204e9800998ecf8427e')
    expect(md5OfBody('test')).toBe('098f6bcd4621d373cade4e832627b4f6')
    expect(md5OfBody('zwölf')).toBe('e23a08180c99ea8cc8a43abce1dfff47')
  })

  // Digests in recorded answers of the service.
  const text = (StringValue: string) => ({ DataType: 'String', StringValue })
  it.each([
    ['ae7155c6026991b6d54b11589678bf9c', { Foo: text('Bar') }],
    ['a311262e065454b75da111d535b8dacd', { Hello: text('There') }],
    ['fca026605781cb4126a1e9044df24232', { Hello: text('There'), General: text('Kenobi') }],
    ['83fee93c1bcd8b9a5a923ffacdc636c7', { 'Help.Me': text('Me'), Hello: text('There') }],
    ['4c360f3fdafd970e05fae2f149d997f5', { 'Help.Me': text('Me'), Hello: text('There'), General: text('Kenobi') }],
    [
      '8cbe4db156db8a94db8b801b7addb984',
      {
        attr1: {
          DataType: 'Binary',
          BinaryValue: Buffer.from('traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01', 'latin1'),
        },
      },
    ],
  ])('of attributes is what the service answers: %s', (digest, attributes) => {
    expect(md5OfAttributes(attributes)).toBe(digest)
  })

  it('of attributes does not depend on their order, and knows labelled types and numbers', () => {
    const Blob = { DataType: 'Binary.gzip', BinaryValue: Uint8Array.of(1, 2, 255) }
    const Count = { DataType: 'Number.int', StringValue: '7' }
    // Computed by hand with Python's hashlib and struct.pack('>I', …).
    expect(md5OfAttributes({ Count, Blob })).toBe('c9ef844155b7278736b9882a068500b6')
    expect(md5OfAttributes({ Blob, Count })).toBe('c9ef844155b7278736b9882a068500b6')
  })

  it('is not there for no attributes', () => {
    expect(md5OfAttributes(undefined)).toBeUndefined()
    expect(md5OfAttributes({})).toBeUndefined()
  })
})
