import { type Check, ok, problem, warning } from './check.ts';

const differenceMsOk = 2_000;
const differenceMsMax = 30_000;

/** Expiry is judged by both clocks, here and there. */
export const clock: Check = {
  name: 'clock',
  needs: 'database',
  run: async ({ control }) => {
    const asked = Date.now();
    const { rows } = await control.pool.query<{ ms: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    );
    const here = (asked + Date.now()) / 2;
    const difference = Math.round(Math.abs((rows[0]?.ms ?? 0) - here));
    const detail = `This machine and the database differ by ${difference} ms.`;
    const hint = 'Let both follow a time server (NTP).';
    if (difference > differenceMsMax) return problem(detail, hint);
    return difference > differenceMsOk ? warning(detail, hint) : ok(detail);
  },
};
