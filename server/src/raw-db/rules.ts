import type { RawDb } from '@svc/contract/raw-db.shapes.ts';
import type { z } from 'zod';

export type RawDbRecord = z.output<typeof RawDb>;

export interface RawDbFacts {
  database: string;
  state: 'creating' | 'ready' | 'dropping';
  is_closed: boolean;
  connections_max: number;
  host: string;
  port: number;
  enabled_at: Date;
}

export const noRawDb: RawDbRecord = {
  enabled: false,
  status: 'none',
  database: null,
  role: null,
  host: null,
  port: null,
  connections_max: null,
  enabled_at: null,
};

/** One that is being dropped is no longer there for anybody: only that it is going is told. */
export function rawDbRecord(facts: RawDbFacts | undefined): RawDbRecord {
  if (!facts) return noRawDb;
  if (facts.state === 'dropping') return { ...noRawDb, status: 'dropping' };
  return {
    enabled: true,
    status: facts.is_closed ? 'closed' : facts.state,
    database: facts.database,
    role: facts.database,
    host: facts.host,
    port: facts.port,
    connections_max: facts.connections_max,
    enabled_at: facts.enabled_at.toISOString(),
  };
}
