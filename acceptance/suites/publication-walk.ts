import type { ServerDatabase } from '../support/database.ts';
import { type Answered, done, type Person, type Tenant } from '../support/people.ts';
import type { Random } from '../support/random.ts';
import type { Tally } from '../support/rows.ts';
import { newRelease } from '../support/sites.ts';

export const widths = ['private', 'invite_only', 'public', 'internet'] as const;
export type Width = (typeof widths)[number];
const rank = (width: Width) => widths.indexOf(width);

/** `keen` is an admin and a co-owner: who may request and decide, though never on the same request. */
export type Who = 'owner' | 'coOwner' | 'admin' | 'keen' | 'member';
export type People = Record<Who, Person>;

export interface Walked {
  tenant: Tenant;
  people: People;
  database: ServerDatabase;
  app: string;
  /** `…/apps/<app>` */
  base: string;
  releases: string[];
  /** Requests in the order of their creation, as their requesters see them. */
  asked: { id: string; by: Who; width: Width; content: string }[];
  promotion: { by: Who; release: string; content: string } | null;
  /** The admin of the two whose role is currently removed. */
  demoted: 'admin' | 'keen' | null;
  /** By the hash of files and configuration: the widest visibility that another person approved. */
  approved: Map<string, Width>;
  seen: Seen;
}

/** The state in the database at one moment. */
export interface Seen {
  width: Width;
  record: string;
  runtime: string;
  /** Hashes of files and configuration. */
  active: string | null;
  staged: string | null;
  stagedId: string | null;
}

export async function newWalk(
  { tenant, people, database }: Pick<Walked, 'tenant' | 'people' | 'database'>,
  at: number,
): Promise<Walked> {
  const { owner } = people;
  const slug = `walk-${at}-${Bun.randomUUIDv7().slice(-8)}`;
  const app = await done(
    owner.call('POST', `${tenant.base}/apps`, { name: slug, slug, deploy_method: 'static' }),
  );
  const base = `${tenant.base}/apps/${app.id}`;
  for (const { id } of [people.coOwner, people.keen])
    await done(owner.call('POST', `${base}/co-owners`, { user_id: id }));
  await done(owner.call('POST', `${base}/static/site/staging/enable`));
  const site = { owner, base: `${base}/static` };
  const first = await newRelease(site, { 'index.html': `1 ${at}` }, { on_finalize: 'deploy' });
  const second = await newRelease(site, { 'index.html': `2 ${at}` });
  const walked = {
    tenant,
    people,
    database,
    app: app.id,
    base,
    releases: [first.id, second.id],
    asked: [],
    promotion: null,
    demoted: null,
    approved: new Map<string, Width>(),
  };
  return { ...walked, seen: await readState(database, app.id) };
}

export async function readState(database: ServerDatabase, app: string): Promise<Seen> {
  const sumOf = (release: string) => `md5(${release}.manifest_sha256 || ${release}.served_config::text)`;
  const [row] = await database.query(
    `select a.visibility as width, a.record, a.runtime, ${sumOf('active')} as active, ${sumOf('staged')} as staged,
       staged.id as "stagedId"
     from svc.apps a left join svc.static_sites s on s.app_id = a.id
       left join svc.static_releases active on active.id = s.active_release_id and s.is_published
       left join svc.static_releases staged on staged.id = s.staged_release_id
     where a.id = $1`,
    [app],
  );
  return row as unknown as Seen;
}

/** One step: its action, its caller and the answer. Records what another person approves by it. */
export async function step(walked: Walked, random: Random, tally: Tally): Promise<string> {
  // An archived or suspended app allows little else: mostly that state ends first.
  const isStopped = walked.seen.record !== 'active' || walked.seen.runtime === 'suspended';
  const alone = walked.demoted !== null && random.chance(0.6) ? aloneMoves : moveNames;
  const name = isStopped && random.chance(0.7) ? 'reactivate' : random.pick(alone);
  const { by, run } = moves[name];
  // The only admin tries to decide alone.
  const left = walked.demoted === 'admin' ? 'keen' : 'admin';
  const usual = alone === aloneMoves ? left : random.pick(by);
  const who = random.chance(0.9) ? usual : random.pick(everybody);
  const answer = await run(walked, who, random);
  if (answer === null) return `${name}: there is nothing to do it with`;
  if (answer.status >= 500) throw new Error(`${name} answered ${JSON.stringify(answer.body)}`);
  const done = answer.body.changed === false ? 'unchanged' : 'done';
  const outcome = answer.status < 400 ? done : String(answer.body.code);
  tally.add(`${name} ${outcome}`);
  if (outcome === 'self_review' && walked.demoted !== null) tally.add('alone self_review');
  return `${name} by ${who}: ${outcome}`;
}

/** Violations: wider visibility without another person's approval, or visible content that nobody approved. */
export async function findViolations(walked: Walked, allowed: readonly Width[]): Promise<string[]> {
  const { seen: before, database, app, approved } = walked;
  const seen = await readState(database, app);
  walked.seen = seen;
  const isWider = rank(seen.width) > rank(before.width);
  const letThrough = seen.active === null ? seen.width : (approved.get(seen.active) ?? 'private');
  return [
    ...(isWider && !allowed.includes(seen.width) ? [`${before.width} became ${seen.width}`] : []),
    ...(rank(letThrough) < rank(seen.width)
      ? [`what is shown at ${seen.width} was approved for ${letThrough}`]
      : []),
  ];
}

/** The visibility that the last step allows: that of a request which another person has just approved. */
export const allowedWidths = new WeakMap<Walked, Width>();

function noteApproval(walked: Walked, content: string, width: Width): void {
  const before = walked.approved.get(content) ?? 'private';
  if (rank(width) > rank(before)) walked.approved.set(content, width);
}

type Ran = Promise<Answered | null>;
type Move = { by: readonly Who[]; run: (walked: Walked, who: Who, random: Random) => Ran };
const owners = ['owner', 'coOwner', 'keen'] as const;

const post = ({ people }: Walked, who: Who, path: string, body?: unknown) =>
  people[who].call('POST', path, body);
const ofRelease = (walked: Walked, who: Who, id: string, move: string) =>
  post(walked, who, `${walked.base}/static/releases/${id}/${move}`);

async function decide(walked: Walked, who: Who, move: string, random: Random, body?: object): Ran {
  // Mostly the newest request, sometimes a closed one.
  const asked = random.chance(0.85) ? walked.asked.at(-1) : random.pick(walked.asked);
  if (!asked) return null;
  const path = `${walked.tenant.base}/publication-requests/${asked.id}/${move}`;
  const answer = await post(walked, who, path, body);
  const isApproved = move === 'approve' && answer.status === 200 && answer.body.changed !== false;
  if (isApproved && asked.by !== who) {
    noteApproval(walked, asked.content, asked.width);
    allowedWidths.set(walked, asked.width);
  }
  return answer;
}

async function setRole(walked: Walked, who: Who, whose: 'admin' | 'keen', role: string): Ran {
  const { tenant, people } = walked;
  const answer = await people[who].call('PUT', `${tenant.base}/members/${people[whose].id}`, { role });
  if (answer.status === 200) walked.demoted = role === 'tenant_admin' ? null : whose;
  return answer;
}

const moves = {
  /** Removes the role of the other admin: one admin is left. */
  demote: {
    by: ['admin', 'keen', 'keen'],
    run: (walked, who) => setRole(walked, who, who === 'keen' ? 'admin' : 'keen', 'tenant_member'),
  },
  restore: {
    by: ['admin', 'keen'],
    run: async (walked, who) =>
      walked.demoted === null ? null : setRole(walked, who, walked.demoted, 'tenant_admin'),
  },
  update: {
    by: [...owners, 'admin'],
    run: ({ people, base }, who, random) =>
      people[who].call('PATCH', base, { visibility: random.pick(widths) }),
  },
  publish: {
    by: owners,
    async run(walked, who, random) {
      const { seen, base, releases } = walked;
      const named = random.pick([null, null, seen.stagedId, random.pick(releases)]);
      const visibility = random.pick(widths.slice(1));
      const body = { visibility, ...(named === null ? {} : { deployment_id: named }) };
      const answer = await post(walked, who, `${base}/publication-requests`, body);
      if (answer.status !== 201) return answer;
      const content = answer.body.pinned === 'staged' ? seen.staged : seen.active;
      if (content === null) throw new Error('A missing file was requested.');
      walked.asked.push({ id: answer.body.id, by: who, width: visibility, content });
      return answer;
    },
  },
  approve: { by: ['admin', 'keen'], run: (walked, who, random) => decide(walked, who, 'approve', random) },
  reject: {
    by: ['admin', 'keen', 'coOwner'],
    run: (walked, who, random) => decide(walked, who, 'reject', random, { reason: 'no' }),
  },
  withdraw: { by: owners, run: (walked, who, random) => decide(walked, who, 'withdraw', random) },
  activate: {
    by: owners,
    run: (walked, who, random) => ofRelease(walked, who, random.pick(walked.releases), 'activate'),
  },
  rollback: {
    by: owners,
    run: (walked, who, random) => ofRelease(walked, who, random.pick(walked.releases), 'rollback'),
  },
  stage: {
    by: owners,
    run: (walked, who, random) => ofRelease(walked, who, random.pick(walked.releases), 'stage'),
  },
  promote: {
    by: owners,
    async run(walked, who) {
      const { stagedId, staged } = walked.seen;
      if (stagedId === null || staged === null) return null;
      const answer = await ofRelease(walked, who, stagedId, 'promote-request');
      if (answer.status === 200 && answer.body.changed !== false)
        walked.promotion = { by: who, release: stagedId, content: staged };
      return answer;
    },
  },
  'promote-approve': {
    by: ['admin', 'keen'],
    async run(walked, who) {
      const { promotion, seen } = walked;
      if (promotion === null) return null;
      const answer = await ofRelease(walked, who, promotion.release, 'promote-approve');
      if (answer.status === 200 && promotion.by !== who) noteApproval(walked, promotion.content, seen.width);
      return answer;
    },
  },
  configure: {
    by: owners,
    run: ({ people, base }, who, random) =>
      people[who].call('PUT', `${base}/static/site`, { spa: random.chance(0.5) }),
  },
  unpublish: {
    by: [...owners, 'admin'],
    run: (walked, who) => post(walked, who, `${walked.base}/static/site/unpublish`),
  },
  archive: { by: [...owners, 'admin'], run: (walked, who) => post(walked, who, `${walked.base}/archive`) },
  reactivate: {
    by: [...owners, 'admin'],
    // A reactivated site is suspended: visitors see it again after resume.
    run: (walked, who) =>
      post(walked, who, `${walked.base}/${walked.seen.record === 'archived' ? 'reactivate' : 'resume'}`),
  },
} satisfies Record<string, Move>;

/** Actions that make progress are more frequent than those that end it. */
const moveNames: readonly (keyof typeof moves)[] = [
  ...(['publish', 'publish', 'publish', 'publish', 'publish', 'approve', 'approve', 'approve'] as const),
  ...(['approve', 'update', 'activate', 'activate', 'rollback', 'stage', 'stage', 'promote'] as const),
  ...(['promote-approve', 'reject', 'withdraw', 'configure', 'reactivate', 'reactivate'] as const),
  ...(['unpublish', 'archive', 'demote'] as const),
];
/** Restores the second admin. */
const aloneMoves: typeof moveNames = ['publish', 'approve', 'approve', 'restore'];
const everybody: readonly Who[] = ['owner', 'coOwner', 'admin', 'keen', 'member'];
