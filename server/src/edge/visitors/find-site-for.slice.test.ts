import { expect, test } from 'bun:test';
import type { Db } from '../../core/db.ts';
import { useTestDatabase } from '../../testing.ts';
import { findSiteFor, parseSiteTarget } from './site-target.ts';

import { config, newVisitedApp } from './testing.ts';

const database = useTestDatabase();

/** The result and the number of queries. */
async function lookFor(address: string, userId: string): Promise<{ found: string | null; looks: number }> {
  let looks = 0;
  const db: Db = database.db.withPlugin({
    transformQuery({ node }) {
      looks++;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const target = parseSiteTarget(address, config);
  if (target === null || target === 'elsewhere') throw new Error(`${address} is no target.`);
  const findAppAtDomain = async () => null;
  return { found: await findSiteFor({ db, findAppAtDomain }, { target, userId }), looks };
}

test.each(['private', 'invite_only', 'public'] as const)(
  'a missing site takes as many queries as a forbidden one: %s',
  async (visibility) => {
    const world = await newVisitedApp(database, visibility);
    const { owner, member, stranger } = world.people;
    const absent = 'http://no-such-app.apps.localhost/';
    for (const { userId } of visibility === 'public' ? [stranger] : [member, stranger]) {
      const hidden = await lookFor(`${world.origin}/`, userId);
      expect(hidden.found).toBeNull();
      expect(await lookFor(absent, userId)).toEqual(hidden);
    }
    for (const { userId } of [member, stranger]) {
      const hidden = await lookFor(`${world.staging}/`, userId);
      expect(hidden.found).toBeNull();
      expect(await lookFor(absent.replace('app.', 'app--staging.'), userId)).toEqual(hidden);
    }
    expect((await lookFor(`${world.origin}/`, owner.userId)).found).toBe(world.app.id);
  },
);
