import { describe, expect, test } from 'bun:test';
import { contract } from '@svc/contract/all.ts';
import { Glob } from 'bun';
import type { Command } from './command.ts';
import type { Args, Flag } from './framework/declaration.ts';
import { parseDuration } from './framework/flag-values.ts';
import { allFlags, flagNames, mutationFlags } from './framework/flags.ts';
import { parseArgs } from './framework/parse.ts';
import { globalFlags } from './global-flags.ts';
import { commandSchema } from './output/command-schema.ts';
import { commandWords, groups, svc } from './registry.ts';

const commands = await Promise.all(commandWords.map(svc.load));

/** Endpoints without a command, and why. */
const withoutCommand: Record<string, string> = {
  'audit.list': 'audit list asks for it',
  'audit.listOfApp': 'audit list --app asks for it',
  'bootstraps.get': 'apps bootstrap-status asks for it, and may look on',
  'bootstraps.start': 'apps bootstrap asks for it, and may wait for a person and for the run',
  'factors.startPasskey': 'only a browser creates passkeys',
  'factors.addPasskey': 'only a browser creates passkeys',
  'factors.startTotp': 'the console shows the QR code',
  'factors.addTotp': 'the console asks for the code',
  'factors.resetRecoveryCodes': 'the console shows the codes',
  'git.begin': 'apps git connect asks for it, where the app of the git host is not installed',
  'git.connect': 'apps git connect asks for it, and may wait for a person first',
  'gitHost.complete': 'git-host complete asks for it, and there is nothing to preview',
  'gitHost.pollLink': 'git-host link asks for it, and there is nothing to preview',
  'gitHost.startLink': 'git-host link asks for it, and there is nothing to preview',
  'connectors.refreshSchema': 'connectors schema refresh asks for it, and there is nothing to preview',
  'domains.get': 'apps domains verify asks for it while it waits, and apps domains list shows the same',
  'domains.verify': 'apps domains verify asks for it, and there is nothing to preview',
  'icons.preCreate': 'apps sign-icon-upload --pre-create asks for it, and does more than one call',
  'icons.sign': 'apps sign-icon-upload asks for it, and does more than one call',
  'apps.logs': 'logs asks for it, page by page',
  'deployments.create': 'deploy asks for it, and does more than one call',
  'deployments.grantUpload': 'deploy --from-dir asks for it',
  'deployments.logs': 'deployments logs asks for it, page by page',
  'previews.redeploy': 'previews redeploy asks for it, and waits for what it began',
  'apps.restart': 'apps restart asks for it, and waits for what it began',
  'deployments.rollback': 'deployments rollback asks for it, and waits for what it began',
  'runs.create': 'run asks for it, and follows the output',
  'runs.logs': 'run and runs logs ask for it, page by page',
  'schedules.run': 'schedules run asks for it, and follows the output',
  'deployments.tableDrift': 'the console asks for it; apply --check compares with a file',
  'grants.terms': 'the console asks for it, to show grants by name; grants mine shows the ids',
  'members.set': 'members set changes role and attributes in one request',
  'policies.replace': 'policies update changes single fields; a whole new policy is policies create',
  'publications.list': 'review list shows publications with all other reviews',
  'publications.listOfApp': 'review history --app shows publications with all other reviews',
  'publications.get': 'review get shows every kind of review',
  'publications.approve': 'review approve decides every kind of review',
  'publications.reject': 'review reject decides every kind of review',
  'publications.withdraw': 'review withdraw ends every kind of review',
  'reviews.listOfApp': 'review history --app asks for it',
  'reviews.logs': 'review logs asks for it, page by page',
  'releases.file': 'the console asks for it, to show what has changed in a file',
  'releases.grantUpload': 'apps static deploy asks for it, when an address has expired',
  'sites.set': 'apps static site set asks for it, where it has something to send',
  'sites.startAuth': 'apps static auth start asks for it, and there is nothing to preview',
  'storage.copy': 'apps storage cp asks for it, and does more than one call',
  'storage.delete': 'apps storage rm asks for it, and names the key that it deleted',
  'storage.list': 'apps storage ls asks for it, and shows objects and prefixes as one list',
  'tables.apply': 'apply asks for it, or for a comparison with --check',
  'tables.check': 'apply --check asks for it',
  'tables.export': 'tables export asks for it, and prints YAML',
  'storage.signUpload': 'apps storage put asks for it, and does more than one call',
};

describe('the list of commands', () => {
  test('names every file, and every command that the files declare', async () => {
    const files = [...new Glob('**/*.ts').scanSync(`${import.meta.dir}/commands`)];
    const modules = await Promise.all(files.map((file) => import(`./commands/${file}`)));
    const declared = modules.flatMap((module) => Object.values<Command>(module).map(({ words }) => words));
    expect(declared.sort()).toEqual([...commandWords].sort());
  });

  test('has a group for every prefix of the words, and no group without commands', () => {
    const beginnings = commandWords.flatMap((words) =>
      words
        .split(' ')
        .slice(0, -1)
        .map((_, at, all) => all.slice(0, at + 1).join(' ')),
    );
    expect(Object.keys(groups).sort()).toEqual([...new Set(beginnings)].sort());
    for (const [path, { alone }] of Object.entries(groups)) {
      if (alone !== undefined)
        expect([alone.startsWith(path), commandWords.includes(alone)]).toEqual([true, true]);
    }
  });

  test('covers every endpoint of the contract, and knows no other', () => {
    const used = new Set(commands.flatMap(({ endpoint }) => (endpoint === undefined ? [] : [endpoint.id])));
    const known = contract.map(({ endpoint }) => endpoint.id);
    for (const id of used) expect(known).toContain(id);
    const left = known.filter((id) => !used.has(id));
    expect(left.sort()).toEqual(Object.keys(withoutCommand).sort());
  });
});

describe.each(commands.map((command) => [command.words, command] as const))(
  'svc %s',
  (_, command: Command) => {
    test('has a summary of one line without a full stop', () => {
      expect(command.summary).toMatch(/^[A-Z].{10,90}[^.]$/);
    });

    test('has examples that can be parsed and have the grammars of its schema', async () => {
      const examples = Object.entries(command.examples ?? {});
      expect(examples.length).toBeGreaterThan(0);
      const { properties } = (await commandSchema(command)).input as { properties: Record<string, Written> };
      for (const [line, does] of examples) {
        expect([line, does.length > 3]).toEqual([line, true]);
        const { args } = await parseArgs(svc, command, shellWords(line), { env: {} });
        for (const [name, value] of typedTexts(args)) {
          const { pattern, items } = properties[name] ?? {};
          const grammar = new RegExp(pattern ?? items?.pattern ?? '', 'u');
          if (!value.startsWith('<')) expect([line, name, grammar.test(value)]).toEqual([line, name, true]);
        }
      }
    });

    test('previews if and only if its endpoint changes something', () => {
      if (command.endpoint !== undefined) expect(command.kind).toBe(command.endpoint.kind);
      expect(command.run === undefined).toBe(command.endpoint !== undefined);
      if (command.endpoint === undefined) expect(command.output).toBeDefined();
    });

    test('names every parameter of the path in its arguments or its input', () => {
      const names = [
        ...(command.positionals ?? []).map(({ name }) => name),
        ...Object.keys(command.flags ?? {}),
      ];
      const named = new Set(['tenant', ...names.map((name) => name.replace(/-id$/, ''))]);
      const params = [...(command.endpoint?.path ?? '').matchAll(/\{(\w+?)(?:ID)?\}/g)].map(
        ([, name = '']) => name,
      );
      if (command.input === undefined)
        expect(params.filter((name) => !named.has(name) && !named.has('id'))).toEqual([]);
    });

    test('has flags that fit together', () => {
      const all = allFlags(svc, command);
      for (const [name, flag] of Object.entries(command.flags ?? {})) checkFlag(name, flag, Object.keys(all));
      const spellings = Object.entries(all).flatMap(([name, flag]) => [
        ...flagNames({ [name]: flag }).keys(),
      ]);
      expect(new Set(spellings).size).toBe(spellings.length);
      // A command that used to preview still accepts its old flags.
      const own = Object.entries(command.flags ?? {}).filter(([, { retired }]) => retired === undefined);
      for (const name of Object.keys(mutationFlags)) expect(Object.fromEntries(own)).not.toHaveProperty(name);
    });

    test('has positionals of which only the last may be optional or repeated', () => {
      const positionals = command.positionals ?? [];
      for (const it of positionals.slice(0, -1))
        expect([it.optional, it.repeated]).toEqual([undefined, undefined]);
      for (const it of positionals)
        expect([it.name, it.summary]).toEqual([
          expect.stringMatching(/^[a-z-]+$/),
          expect.stringMatching(/./),
        ]);
    });

    test('has a schema of its input and output', async () => {
      const schema = await commandSchema(command);
      expect(JSON.parse(JSON.stringify(schema))).toMatchObject({
        command: `svc ${command.words}`,
        output: expect.anything(),
      });
      expect(schema.preview !== undefined).toBe(command.kind === 'mutate');
    });
  },
);

test('global and mutation flags are well formed', () => {
  for (const [name, flag] of Object.entries({ ...globalFlags, ...mutationFlags })) checkFlag(name, flag, []);
});

function checkFlag(name: string, flag: Flag, all: readonly string[]): void {
  expect(name).toMatch(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
  expect(flag.summary).toMatch(/^\S.*[^.]$/s);
  for (const other of [flag.winsOver, flag.excludes, flag.requires, flag.requiredUnless].flatMap(
    (it) => it ?? [],
  )) {
    expect(all).toContain(other);
  }
  if (flag.type === 'duration') {
    for (const bound of [flag.min, flag.max])
      if (bound !== undefined) expect(parseDuration(bound)).not.toBeNull();
  }
  if (flag.required) expect([flag.default, flag.requiredUnless]).toEqual([undefined, undefined]);
}

interface Written {
  pattern?: string;
  items?: { pattern?: string };
}

/** Names as in the schema, with each text that was typed. */
function typedTexts({ flags, positionals }: Args): [string, string][] {
  const named = Object.entries(flags).map(([name, value]) => [`--${name}`, value] as const);
  return [...Object.entries(positionals), ...named].flatMap(([name, value]: readonly [string, unknown]) =>
    [value].flat().flatMap((one): [string, string][] => (typeof one === 'string' ? [[name, one]] : [])),
  );
}

/** Splits an example as a shell would; single quotes are all they use. */
function shellWords(line: string): string[] {
  return [...line.matchAll(/(?:'([^']*)'|([^\s']+))+/g)].map(([word]) => word.replaceAll("'", ''));
}
