export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * The type that a value has after it was stored as JSON and read back: a Date has become text, nothing has become
 * null, a member that may be undefined may be missing.
 */
export type Stored<Value> = unknown extends Value
  ? Value
  : Value extends Json
    ? Value
    : Value extends { toJSON(): infer Plain }
      ? Stored<Plain>
      : Value extends undefined | void
        ? null
        : Value extends bigint | symbol | ((...args: never[]) => unknown)
          ? never
          : { [Key in keyof Value]: StoredMember<Value[Key]> }

type StoredMember<Value> = unknown extends Value ? Value : Stored<Exclude<Value, undefined>> | Extract<Value, undefined>
