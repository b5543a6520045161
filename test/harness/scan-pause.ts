import type { Session } from './session.js'

const pauseLock = 7_301

/** A place to stand between the snapshot of a statement that locks, changes or deletes rows and its first row of `leased`. */
export function pauseScansOfLeased(gate: Session, ...paused: Session[]): Promise<{ resume(): Promise<void> }> {
  return pauseScansOf('leased', gate, ...paused)
}

/**
 * The same for any table. Statements that skip locked rows wait for nothing there, so a row policy makes them: the
 * sessions given act as a role that has to pass it, and wait in the scan until `resume()`.
 */
export async function pauseScansOf(
  table: 'leased' | 'run',
  gate: Session,
  ...paused: Session[]
): Promise<{ resume(): Promise<void> }> {
  await gate.query(`
    create function public.scan_pause() returns boolean language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${pauseLock});
      return true;
    end $$;
    alter table fencepost.${table} enable row level security;
    create policy scan_goes_on on fencepost.${table} for select using (true);
    create policy scan_pause on fencepost.${table} for update using (public.scan_pause());
    create policy scan_pause_too on fencepost.${table} for delete using (public.scan_pause());
    grant usage on schema fencepost to pg_monitor;
    grant all on all tables in schema fencepost to pg_monitor;
    grant all on all sequences in schema fencepost to pg_monitor;
    select pg_advisory_lock(${pauseLock})`)
  for (const session of paused) await session.query('set role pg_monitor')
  return {
    async resume() {
      await gate.query(`select pg_advisory_unlock(${pauseLock})`)
    },
  }
}
