import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestUrlPathPattern } from '@svc/contract/manifest.ts';
import type { Evidence, Reasoned } from './evidence.ts';
import { composeFiles, dockerfiles, type FolderFacts } from './folder-facts.ts';
import { frameworkOf, generators, type Served } from './frameworks.ts';
import { type NodeProject, runsServer } from './node-project.ts';

/** The part of the file that says how the app gets to run. */
export interface Serving {
  manifest: Manifest;
  evidence: Evidence[];
}

export function servingOf(facts: FolderFacts, project: NodeProject | null): Serving {
  const dockerfile = dockerfiles.find((file) => facts.entries.has(file));
  if (dockerfile !== undefined) return ofDockerfile(facts, dockerfile);
  const compose = composeFiles.find((file) => facts.entries.has(file));
  if (compose !== undefined) {
    return {
      manifest: { deploy: { method: 'compose', compose_file: compose } },
      evidence: [
        { key: 'deploy.method', value: 'compose', because: `${compose} is there` },
        { key: 'deploy.compose_file', value: compose, because: `${compose} is there` },
      ],
    };
  }
  const framework = project === null ? null : frameworkOf(project, facts);
  if (project !== null && framework !== null) {
    return ofProject(project, framework.served, `${framework.dependency} in package.json`);
  }
  const generator = generators.find(({ file }) => facts.entries.has(file));
  if (generator !== undefined) {
    const { file, build, dir } = generator;
    return ofFiles({ dir, build }, { dir: `${file} is there`, build: `${file} is there` });
  }
  if (project !== null && runsServer(project)) {
    return ofProject(project, { as: 'program' }, 'start in package.json runs a program');
  }
  return ofPages(facts, project);
}

function ofDockerfile(facts: FolderFacts, file: string): Serving {
  const because = `${file} is there`;
  const health = healthcheckPath(facts.texts[file] ?? '');
  const isUsual = file === 'Dockerfile';
  return {
    manifest: {
      deploy: { method: 'docker', ...(!isUsual && { dockerfile: file }) },
      ...(health !== null && { health }),
    },
    evidence: [
      { key: 'deploy.method', value: 'docker', because },
      ...(isUsual ? [] : [{ key: 'deploy.dockerfile', value: file, because }]),
      ...(health === null ? [] : [{ key: 'health', value: health, because: `HEALTHCHECK in ${file}` }]),
    ],
  };
}

/** Of an instruction such as `HEALTHCHECK CMD curl -f http://localhost:3000/healthz`. */
function healthcheckPath(dockerfile: string): string | null {
  const instruction = /^\s*HEALTHCHECK\b((?:[^\n]*\\\r?\n)*[^\n]*)/im.exec(dockerfile)?.[1] ?? '';
  const path = /https?:\/\/[^/\s"'\]]+(\/[^\s"'\]|;&)]*)?/.exec(instruction);
  if (path === null) return null;
  const found = path[1] ?? '/';
  return manifestUrlPathPattern.test(found) ? found : null;
}

function ofProject(project: NodeProject, served: Served, because: string): Serving {
  const build = project.scripts.build === undefined ? null : `${project.runner} build`;
  const buildBecause = 'script build in package.json';
  if (served.as === 'files') {
    return ofFiles({ dir: served.dir, build }, { dir: because, build: buildBecause });
  }
  const start = startOf(project, served);
  return {
    manifest: {
      deploy: { method: 'docker' },
      ...(build !== null && { build }),
      ...(start !== null && { start: start.value }),
      health: '/',
    },
    evidence: [
      { key: 'deploy.method', value: 'docker', because },
      ...(build === null ? [] : [{ key: 'build', value: build, because: buildBecause }]),
      ...(start === null ? [] : [{ key: 'start', ...start }]),
      { key: 'health', value: '/', because: 'a guess: most programs answer there' },
    ],
  };
}

function startOf(project: NodeProject, served: { start?: string }): Reasoned | null {
  if (project.scripts.start !== undefined) {
    return { value: `${project.runner} start`, because: 'script start in package.json' };
  }
  if (served.start !== undefined) return { value: served.start, because: 'where the build puts it' };
  // It goes into a command line.
  if (project.main === null || !/^[\w./@-]+$/.test(project.main)) return null;
  return { value: `node ${project.main}`, because: 'main in package.json' };
}

function ofPages(facts: FolderFacts, project: NodeProject | null): Serving {
  const [folder] = facts.pages;
  const isBuilt = project?.scripts.build !== undefined;
  if (facts.entries.has('index.html') && !isBuilt) {
    return ofFiles({ dir: '.', build: null }, { dir: 'index.html is there', build: '' });
  }
  if (folder !== undefined) {
    const build = project !== null && isBuilt ? `${project.runner} build` : null;
    return ofFiles(
      { dir: folder, build },
      { dir: `${folder}/index.html is there`, build: 'script build in package.json' },
    );
  }
  if (project !== null && (isBuilt || project.scripts.start !== undefined || project.main !== null)) {
    return ofProject(project, { as: 'program' }, 'a package.json, and no files that are ready to be served');
  }
  const because =
    facts.entries.has('package.json') && project === null
      ? 'package.json can not be read; docker is the usual method'
      : 'nothing here tells; docker is the usual method';
  return {
    manifest: { deploy: { method: 'docker' } },
    evidence: [{ key: 'deploy.method', value: 'docker', because }],
  };
}

function ofFiles(
  { dir, build }: { dir: string; build: string | null },
  because: { dir: string; build: string },
): Serving {
  return {
    manifest: { deploy: { method: 'static' }, ...(build !== null && { build }), static: { dir } },
    evidence: [
      { key: 'deploy.method', value: 'static', because: because.dir },
      ...(build === null ? [] : [{ key: 'build', value: build, because: because.build }]),
      { key: 'static.dir', value: dir, because: because.dir },
    ],
  };
}
