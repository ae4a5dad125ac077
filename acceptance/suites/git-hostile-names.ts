import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { newNodeApp, nodeApp } from '../support/apps.ts';
import { svcFor } from '../support/commands.ts';
import { git, pushFiles, remoteOf, webhookSender } from '../support/git.ts';
import { done, newPerson, newTenant, type Tenant } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { startEmbedded, temporaryFolder } from '../support/server.ts';
import { repeatConcurrently, until } from '../support/until.ts';
import { doors, type Knock, type Knocker } from './hostile-doors.ts';
import { hostileNames, mark, worstNames } from './hostile-git-names.ts';
import { findUnsafePosition, hasStrace, readStartedPrograms, straceCommand } from './traced-programs.ts';

export function gitHostileNames({
  count,
  valuesEach,
  doorsEach,
  foldersCount,
  bootstrapsCount,
  commandsCount,
}: {
  count: number;
  valuesEach: number;
  doorsEach: number;
  foldersCount: number;
  bootstrapsCount: number;
  commandsCount: number;
}): void {
  /** Programs that the server starts, for itself, for git and for apps. */
  const programs = new Set([
    'bun',
    'bun.exe',
    'git',
    'tar',
    'ps',
    'id',
    'postgres',
    'initdb',
    'pg_ctl',
    'useradd',
    'getent',
    'setpriv',
    // The sandbox of a build and of an instance.
    'unshare',
    'mount',
    'mkdir',
    'mknod',
    'pasta',
    // The name of pasta on machines with AVX2.
    'passt.avx2',
    'ip',
    'bwrap',
    // The server tests whether a sandbox works.
    'true',
    'sh',
    'dash',
    'nice',
    'cat',
    'node',
    'chown',
    'chmod',
    // A private copy of the app's files, where the file system allows no overlay.
    'cp',
  ]);

  test.if(hasStrace)(
    'hostile names of repositories, owners, branches, refs and paths: no door fails, and none reaches a shell',
    async () => {
      const traced = join(temporaryFolder(), 'programs');
      const server = await startEmbedded({ command: straceCommand(traced), finds: 'prepared' });
      const touched = temporaryFolder();
      // A file that is executed would leave a trace.
      chmodSync(touched, 0o777);
      const random = newRandom();
      const values = hostileNames(random, { count, folder: touched });
      const tenant = await newTenant(server);
      const knockers = await newKnockers(tenant, random, 1 + Math.ceil(count / valuesEach));
      const [answers, wrong] = [new Tally(), [] as string[]];
      const note = (door: string, value: string, knock: Knock | null) => {
        answers.add(knock?.status ?? 'closed');
        if (knock && knock.status >= 500)
          wrong.push(`${door} ${JSON.stringify(value)}: ${knock.status} ${JSON.stringify(knock.body)}`);
        if (knock?.status === 429) wrong.push(`${door} was not reached: ${JSON.stringify(knock.body)}`);
      };
      const begun = performance.now();
      const [thorough, ...others] = knockers as [Knocker, ...Knocker[]];
      for (const value of worstNames(touched))
        for (const [name, ways] of Object.entries(doors))
          for (const way of ways) note(name, value, await way(thorough, value));
      await repeatConcurrently(others.length, 4, async (at) => {
        for (const value of values.slice(at * valuesEach, (at + 1) * valuesEach))
          for (const [name, ways] of random.some(Object.entries(doors), doorsEach))
            note(name, value, await random.pick(ways)(others[at]!, value));
      });
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      expect(wrong.slice(0, 10)).toEqual([]);
      const [pushed, built, ran, asked] = await Promise.all([
        pushHostileNames(tenant, values),
        buildHostileSource(tenant, values.filter(isNameOfFolder).slice(0, foldersCount)),
        bootstrapHostileNames(thorough, values, bootstrapsCount),
        askByCommand(thorough, values, commandsCount),
      ]);
      await server.stop();

      const started = readStartedPrograms(traced);
      const [names, places] = [new Tally(), [] as string[]];
      for (const each of started) {
        if (each.isStarted) names.add(basename(each.program));
        const place = findUnsafePosition(
          each,
          (argument) => argument.includes(mark) && !isOurAddress(argument),
        );
        if (place) places.push(place);
      }
      const withValue = started.filter(({ argv }) => argv.some((argument) => argument.includes(mark))).length;
      console.log(
        `seed ${random.seed}: ${count} values in ${seconds} s, ${answers}; pushed as ${pushed}; built ${built}; bootstrapped ${ran}; ` +
          `commands ended with ${asked}; ${started.length} programs started: ${names}; ${withValue} with a value`,
      );
      expect(places.slice(0, 10)).toEqual([]);
      expect(names.except(...programs).filter((name) => !name.startsWith('git-'))).toEqual([]);
      expect(readdirSync(touched)).toEqual([]);
      // Programs did receive such values: otherwise the checks above would prove nothing.
      expect(withValue).toBeGreaterThan(count / 10);
      expect(server.output()).not.toContain('"level":50');
    },
    1_800_000,
  );

  /** Arguments with a valid repository name: git passes it on to its own helper. */
  const isOurAddress = (argument: string) =>
    /^http:\/\/(?:127\.0\.0\.1|localhost):\d+\/git\/[A-Za-z0-9-]+\/[\w.-]+\.git\/?$/.test(argument);

  async function newKnockers(tenant: Tenant, random: Random, people: number): Promise<Knocker[]> {
    const [sendWebhook, common] = [await webhookSender(tenant.server), `${tenant.slug}/common`];
    // Every member can read this repository.
    await done(
      tenant.admin.call('POST', `/git/api/v3/orgs/${tenant.slug}/repos`, { name: 'common', private: false }),
    );
    await pushFiles(remoteOf(tenant, tenant.admin, common), {
      'README.md': 'Hello',
      'index.html': 'Hello',
      'a/index.html': 'Hello',
    });
    const template = await done(
      tenant.admin.call('POST', `${tenant.base}/templates`, { repo: common, name: 'x' }),
    );
    return Promise.all(
      Array.from({ length: people }, async (_, at) => {
        const person = await newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
        const name = `k${at}-${Bun.randomUUIDv7().slice(-12)}`;
        const app = await done(person.call('POST', `${tenant.base}/apps`, { name, deploy_method: 'docker' }));
        const repo = await done(
          person.call('POST', `/git/api/v3/orgs/${tenant.slug}/repos`, { name, private: true }),
        );
        const base = `${tenant.base}/apps/${app.id}`;
        await done(person.call('POST', `${base}/git`, { repo: repo.full_name }));
        return {
          person,
          tenant,
          app: base,
          repo: repo.full_name,
          repoId: repo.id,
          common,
          template: template.id,
          sendWebhook,
          random,
        };
      }),
    );
  }

  /** Names of branches and files of a connected repository, and of the only branch of an empty one. */
  async function pushHostileNames(tenant: Tenant, values: readonly string[]): Promise<string> {
    const app = await newNodeApp(tenant, {});
    const { folder } = app.copy;
    const files = values.filter(isNameOfFile);
    for (const file of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), 'x');
    }
    const commit = await app.copy.push('main');
    const branches = [...new Set(values.filter(isNameOfBranch))];
    const lines = branches.map((name) => `${commit} refs/heads/${name}\n`);
    writeFileSync(join(folder, '.git', 'packed-refs'), lines.join(''));
    const must = async (args: string[]) => {
      const { code, stderr } = await git(args, folder);
      if (code !== 0) throw new Error(`git ${args[0]} ended with ${code}: ${stderr}`);
    };
    await must(['push', '-q', 'origin', 'refs/heads/*:refs/heads/*']);
    const empty = await done(
      tenant.member.call('POST', `/git/api/v3/orgs/${tenant.slug}/repos`, { name: 'empty', private: true }),
    );
    const [only = ''] = branches.filter((name) => /^[\w=#%,+@-]+$/.test(name));
    await must([
      'push',
      '-q',
      remoteOf(tenant, tenant.member, empty.full_name),
      `${commit}:refs/heads/${only}`,
    ]);
    await until('the pushes are recorded', async () => {
      const { last_push } = await done(app.owner.call('GET', `${app.base}/git`));
      return last_push?.outcome === 'other_branch';
    });
    await until(
      'what was pushed is deployed or not',
      async () => {
        const [newest] = await app.deployments();
        return newest && ['live', 'failed'].includes(newest.state);
      },
      40_000,
    );
    return `${branches.length} branches and ${files.length} files`;
  }

  /** `svc.yaml` of pushed source refers to folders and files with such names. */
  async function buildHostileSource(tenant: Tenant, values: readonly string[]): Promise<Tally> {
    const app = await newNodeApp(tenant, {});
    const states = new Tally();
    for (const value of values) {
      const named = {
        build: { dir: value, command: 'cat version.txt' },
        deploy: { dockerfile: value },
        start: 'node server.js',
      };
      const inside = Object.entries(nodeApp('one')).map(([path, text]) => [`${value}/${path}`, text]);
      app.copy.write({ ...Object.fromEntries(inside), 'svc.yaml': JSON.stringify(named) });
      const commit = await app.copy.push();
      const made = await until(
        'it is fetched',
        async () => (await app.deployments()).find((each) => each.commit === commit),
        40_000,
      );
      const ended = await app.ended(made);
      states.add(ended.failure ? `${ended.state} (${ended.failure.step})` : ended.state);
    }
    return states;
  }

  /** Valid names are accepted; one of them may already be the name of a repository. */
  async function bootstrapHostileNames(by: Knocker, values: readonly string[], max: number): Promise<Tally> {
    const { person, tenant, template } = by;
    const states = new Tally();
    const runs = `${tenant.base}/bootstraps`;
    for (const value of values.filter(isNameOfRepository).slice(0, max)) {
      const body = {
        template,
        slug: `h-${Bun.randomUUIDv7().slice(-12)}`,
        repo_name: `${value}.again`,
        name: `$(${value});`,
      };
      // The same person has used up the minute's requests to this endpoint above.
      const { id } = await until(
        'the run is accepted',
        async () => {
          const answer = await person.call('POST', runs, body);
          return answer.status === 429 ? null : done(Promise.resolve(answer));
        },
        90_000,
      );
      const run = await until(
        'the run ends',
        async () => {
          const now = await done(person.call('GET', `${runs}/${id}`));
          return now.ended_at === null ? null : now;
        },
        60_000,
      );
      expect([value, run.state, run.failure]).toEqual([value, 'done', null]);
      states.add(run.state);
    }
    return states;
  }

  async function askByCommand(by: Knocker, values: readonly string[], max: number): Promise<Tally> {
    const svc = svcFor(by.tenant.server, { token: by.person.token, tenant: by.tenant.slug });
    const codes = new Tally();
    const asked = values.filter((value) => !value.includes('\0') && value.isWellFormed()).slice(0, max);
    await repeatConcurrently(asked.length, 2, async (at) => {
      const value = asked[at]!;
      const flags = by.random.pick([
        [`--repo=${value}`],
        [`--owner=${value}`, '--repo-name=common'],
        [`--owner=${by.tenant.slug}`, `--repo-name=${value}`],
        [`--repo=${by.common}`, `--ref=${value}`],
        [`--repo=${by.common}`, `--path=${value}`],
      ]);
      const ran = await svc(['apps', 'detect', ...flags, '--json']);
      codes.add(ran.code);
      if (![0, 2, 5, 7].includes(ran.code)) throw new Error(`${flags} ended with ${ran.code}: ${ran.stderr}`);
    });
    return codes;
  }

  const parts = (value: string) => value.split('/');
  const isPlain = (value: string) =>
    value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) < 200;
  const isNameOfFile = (value: string) =>
    isPlain(value) && parts(value).every((part) => part !== '' && !/^\.+$|git|~/i.test(part));
  const isNameOfFolder = (value: string) =>
    isNameOfFile(value) && /[^\w.-]/.test(value) && !/[\\]/.test(value);
  const isNameOfBranch = (value: string) =>
    isPlain(value) &&
    !/[\s~^:?*[\\\x7f]|\.\.|@\{|\.$/.test(value) &&
    parts(value).every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
  const isNameOfRepository = (value: string) =>
    /^[A-Za-z0-9_.][A-Za-z0-9._-]{0,79}$/.test(value) && !/\.(?:git|lock|wiki)$/i.test(value);
}
