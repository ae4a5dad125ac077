import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Db } from '../plumbing/db.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { findSiteFor } from './find-site-for.ts';
import { parseSiteTarget } from './site-target.ts';
import { places, shownApp } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** What was found, and how often the database was asked for it. */
async function lookFor(address: string, userId: string): Promise<{ found: string | null; looks: number }> {
  let looks = 0;
  const db: Db = database.db.withPlugin({
    transformQuery({ node }) {
      looks++;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const target = parseSiteTarget(address, places);
  if (target === null || target === 'elsewhere') throw new Error(`${address} is no target.`);
  const appAtDomain = async () => null;
  return { found: await findSiteFor({ db, appAtDomain }, { target, userId }), looks };
}

test.each(['private', 'invite_only', 'public'] as const)(
  'the database is asked as often about a site that is not there as about one that is not for them: %s',
  async (visibility) => {
    const world = await shownApp(database, visibility);
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
