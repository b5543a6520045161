import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import { checkedSchemaName, inSchema } from '../../src/store/schema-name.js'

describe('a schema name', () => {
  it.each(['fencepost', 'jobs_2', 'a', 'user', 'select', 'public', 'x'.repeat(limits.schemaLengthMax)])(
    'may be %j',
    (name) => {
      expect(checkedSchemaName(name)).toBe(name)
    },
  )

  it.each([
    '',
    'Jobs',
    '1st',
    '_jobs',
    'my-jobs',
    'my jobs',
    'jobs.more',
    'jobs"; drop schema public cascade; --',
    "jobs'",
    'jobs$$',
    'jobs\n',
    'jobs\u0000',
    'größe',
    'pg_jobs',
    'information_schema',
    'x'.repeat(limits.schemaLengthMax + 1),
    undefined,
    null,
    5,
    ['jobs'],
    { toString: () => 'jobs' },
  ])('may not be %o', (name) => {
    expect(() => checkedSchemaName(name)).toThrow(expect.objectContaining({ code: 'FP_SCHEMA_NAME_INVALID' }))
  })

  it('holds nothing that would have to be escaped', () => {
    for (const name of ["jobs'", 'jobs"', 'jobs$$', 'my jobs']) expect(() => checkedSchemaName(name), name).toThrow()
  })

  it('takes the place of `fencepost` in SQL, and only of that', () => {
    expect(
      inSchema(`select fencepost.clock(), nextval('fencepost.job_seq') from fencepost.job, my_fencepost.job`, 'user'),
    ).toBe(`select "user".clock(), nextval('"user".job_seq') from "user".job, my_fencepost.job`)
  })
})
