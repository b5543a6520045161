/**
 * The kinds of values that travel on the SQS wire, as data that the codecs walk, and the TypeScript types that follow
 * from that data. A member's `query` is its name in the query protocol where that differs from its name in JSON.
 */
export type Shape = Scalar | ListShape | MapShape | StructureShape

interface Scalar {
  readonly kind: 'string' | 'integer' | 'long' | 'boolean' | 'blob'
}

interface ListShape {
  readonly kind: 'list'
  readonly item: Shape
}

export interface MapShape {
  readonly kind: 'map'
  /** What the query protocol calls a key: `Attribute.1.Name`, but `Tag.1.Key`. The value is always `Value`. */
  readonly key: 'Name' | 'Key'
  readonly value: Shape
}

interface StructureShape {
  readonly kind: 'structure'
  readonly members: Members
}

export interface Member {
  readonly shape: Shape
  readonly required: boolean
  readonly query?: string | undefined
}

/** A value of some shape, for the codecs, which do not know which one. */
export type WireValue = string | number | boolean | Uint8Array | readonly WireValue[] | WireFields

export interface WireFields {
  readonly [name: string]: WireValue
}

/** An answer to be encoded. That it fits its action is for the types of the table to say. */
export type WireOutput = Readonly<Record<string, unknown>>

export type Members = Readonly<Record<string, Member>>

export const string = { kind: 'string' } as const
/** 32 bits. */
export const integer = { kind: 'integer' } as const
/** 64 bits, of which a JavaScript number holds 53. */
export const long = { kind: 'long' } as const
export const boolean = { kind: 'boolean' } as const
export const blob = { kind: 'blob' } as const

export function list<Item extends Shape>(item: Item) {
  return { kind: 'list', item } as const
}

export function map<Value extends Shape>(key: MapShape['key'], value: Value) {
  return { kind: 'map', key, value } as const
}

export function structure<M extends Members>(members: M) {
  return { kind: 'structure', members } as const
}

export function required<S extends Shape>(shape: S, query?: string) {
  return { shape, required: true, query } as const
}

export function optional<S extends Shape>(shape: S, query?: string) {
  return { shape, required: false, query } as const
}

type ValueOf<S> = S extends { readonly kind: 'string' }
  ? string
  : S extends { readonly kind: 'integer' | 'long' }
    ? number
    : S extends { readonly kind: 'boolean' }
      ? boolean
      : S extends { readonly kind: 'blob' }
        ? Uint8Array
        : S extends { readonly kind: 'list'; readonly item: infer Item }
          ? readonly ValueOf<Item>[]
          : S extends { readonly kind: 'map'; readonly value: infer Value }
            ? Readonly<Record<string, ValueOf<Value>>>
            : S extends { readonly kind: 'structure'; readonly members: infer M extends Members }
              ? FieldsOf<M>
              : never

/** An optional field may also be there and undefined, so that an answer can be written in one expression. */
export type FieldsOf<M extends Members> = keyof M extends never
  ? NoFields
  : Flat<
      {
        readonly [Name in keyof M as M[Name]['required'] extends true ? Name : never]: ValueOf<M[Name]['shape']>
      } & {
        readonly [Name in keyof M as M[Name]['required'] extends true ? never : Name]?:
          | ValueOf<M[Name]['shape']>
          | undefined
      }
    >

/** `{}`, and not what TypeScript means by `{}`, which is anything. */
type NoFields = Readonly<Record<string, never>>

/** One object type instead of an intersection: what an editor shows is then what there is. */
type Flat<T> = { [Name in keyof T]: T[Name] }
