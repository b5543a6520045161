import { randomUUID } from 'node:crypto'
import { CreateQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import type { SqsServer } from '../../../src/sqs/sqs-server.js'
import type { Ledger } from '../../../src/store/sqs-servers.js'
import { setupServer } from './setup.js'

const ledgers: readonly Ledger[] = ['off', 'read', 'on']

/** A fleet of servers, and one queue. */
async function setupFleet() {
  const bundle = await setupServer({ sendDedup: 'off' })
  const { sqs, client, sql, serve, server: first } = bundle
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }))
  await first.close()
  const fleet: { server: SqsServer; ledger: Ledger }[] = []
  const add = async (ledger: Ledger) => {
    const member = { server: await serve({ sendDedup: ledger }), ledger }
    fleet.push(member)
    return member
  }
  const send = async ({ server }: { server: SqsServer }, token: string, body: string) =>
    (await client(server.url, {}, token).send(new SendMessageCommand({ QueueUrl, MessageBody: body }))).MessageId
  const copies = async (body: string) =>
    (await sql<{ id: string }>(`select id from fencepost.job where payload -> '$message' ->> 'body' = $1`, [body])).map(
      ({ id }) => id,
    )
  /** A send whose first try meets one server and the second another: how it is stored, and what was told. */
  const twoTries = async (one: { server: SqsServer }, other: { server: SqsServer }) => {
    const [token, body] = [randomUUID(), randomUUID()]
    const told = [await send(one, token, body), await send(other, token, body)]
    return { told, stored: await copies(body) }
  }
  /** Every pair of the fleet as it is: what a writer has stored is stored once, and whatever is told is stored. */
  const check = async () => {
    for (const one of fleet) {
      for (const other of fleet) {
        const { told, stored } = await twoTries(one, other)
        for (const id of told) expect(stored).toContain(id)
        if (one.ledger !== 'on') continue
        expect(stored, `${one.ledger}, then ${other.ledger}`).toHaveLength(1)
        expect(told[0]).toBe(told[1])
      }
    }
  }
  /** The new one comes before the old one goes, as in a rolling deploy. */
  const replace = async (ledger: Ledger) => {
    const old = fleet[0]
    await add(ledger)
    fleet.shift()
    await old?.server.close()
  }
  return { ...bundle, QueueUrl, fleet, add, send, copies, twoTries, check, replace }
}

describe('servers with different words on the ledger', () => {
  for (const one of ledgers) {
    for (const other of ledgers) {
      const forbidden = [one, other].includes('off') && [one, other].includes('on')
      if (forbidden) {
        it(`${one} and ${other}: the second is refused at its start, and told who is in its way`, async () => {
          const { add, sql } = await setupFleet()
          await add(one)
          const [first] = await sql<{ id: string }>('select id from fencepost.sqs_server')

          const refused = add(other)

          await expect(refused).rejects.toMatchObject({
            code: 'FP_SQS_LEDGER',
            hint: expect.stringContaining('Readers come before writers') as string,
          })
          await expect(refused).rejects.toThrow(
            `sendDedup is '${other}' here; at odds with it: ${first?.id} ('${one}')`,
          )
          expect(await sql('select id from fencepost.sqs_server')).toEqual([first])
        })
      } else {
        it(`${one} and ${other}: a send that a writer has stored is stored once`, async () => {
          const { add, check } = await setupFleet()
          await add(one)
          await add(other)
          await check()
        })
      }
    }
  }

  it('go from off to on and back, one server after the other, and no state on the way stores a writer’s send twice', async () => {
    const { sql, fleet, add, check, replace } = await setupFleet()
    for (let n = 0; n < 3; n++) await add('off')
    for (const ledger of ['read', 'on', 'read', 'off'] as const) {
      if (ledger === 'off') {
        // Nor as long as a client may retry what a writer has stored.
        await expect(add('off')).rejects.toThrow('sends of the last five minutes may be retried')
        await sql(`update fencepost.sqs_sent set sent_at = sent_at - interval '5 minutes'`)
      }
      // Not in one step: neither with the first of them, nor with the last.
      for (let n = 0; n < 3; n++) {
        const skipped = fleet.some((member) => member.ledger === 'off') ? 'on' : undefined
        if (skipped) await expect(add(skipped)).rejects.toMatchObject({ code: 'FP_SQS_LEDGER' })
        if (fleet.some((member) => member.ledger === 'on')) {
          await expect(add('off')).rejects.toMatchObject({ code: 'FP_SQS_LEDGER' })
        }
        await replace(ledger)
        await check()
      }
      expect(fleet.map((member) => member.ledger)).toEqual([ledger, ledger, ledger])
    }
  }, 120_000)

  it('that only read give the answers of writers that are gone', async () => {
    const { fleet, add, send, copies, replace } = await setupFleet()
    const writer = await add('on')
    const [token, body] = [randomUUID(), randomUUID()]
    const told = await send(writer, token, body)
    await replace('read')

    expect(await send(fleet[0] as (typeof fleet)[0], token, body)).toBe(told)
    expect(await copies(body)).toEqual([told])
  })
})

describe('a server that was taken for dead', () => {
  it('sends nothing while others write what it does not read, and again when they are gone', async () => {
    const { add, advance, send, copies, sql, errors } = await setupFleet()
    const silent = await add('off')
    await advance(60_001)
    const writer = await add('on')
    const body = randomUUID()

    await expect(send(silent, randomUUID(), body)).rejects.toMatchObject({
      message: 'Other servers of this fleet are in the way of this one. Try again.',
      $metadata: { httpStatusCode: 503 },
    })
    expect(await copies(body)).toEqual([])
    expect(errors.map((error) => (error as { code?: string }).code)).toContain('FP_SQS_LEDGER')

    await writer.server.close()
    const told = await send(silent, randomUUID(), body)
    expect(await copies(body)).toEqual([told])
    expect(await sql('select ledger from fencepost.sqs_server')).toEqual([{ ledger: 'off' }])
  })

  it('registers again by itself where nobody is in its way, and its send is stored once', async () => {
    const { add, advance, check, sql } = await setupFleet()
    await add('read')
    await advance(60_001)
    await add('on')
    expect(await sql('select ledger from fencepost.sqs_server')).toEqual([{ ledger: 'on' }])

    await check()

    expect(await sql('select ledger from fencepost.sqs_server order by ledger')).toEqual([
      { ledger: 'on' },
      { ledger: 'read' },
    ])
  })
})
