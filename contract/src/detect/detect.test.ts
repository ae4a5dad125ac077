import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { detectSource } from './detect.ts';
import type { SourceFiles } from './source-files.ts';

function filesOf(files: Record<string, string>): SourceFiles {
  return { paths: new Set(Object.keys(files)), read: async (path) => files[path] ?? null };
}

const detect = (files: Record<string, string>) => detectSource(filesOf(files));
const packageJson = (dependencies: string[], more: Record<string, unknown> = {}) =>
  JSON.stringify({ dependencies: Object.fromEntries(dependencies.map((name) => [name, '1'])), ...more });
const scripts = { build: 'x', start: 'y' };

test.each([
  ['next', 'nextjs', 'docker', null, 'npm run start'],
  ['nuxt', 'nuxt', 'docker', null, 'npm run start'],
  ['astro', 'astro', 'static', 'dist', null],
  ['@11ty/eleventy', 'eleventy', 'static', '_site', null],
  ['gatsby', 'gatsby', 'static', 'public', null],
  ['@docusaurus/core', 'docusaurus', 'static', 'build', null],
  ['vite', 'vite', 'static', 'dist', null],
  ['react-scripts', 'react', 'static', 'build', null],
  ['@angular/core', 'angular', 'static', 'dist', null],
  ['express', 'express', 'docker', null, 'npm run start'],
  ['fastify', 'fastify', 'docker', null, 'npm run start'],
] as const)('%s is %s', async (dependency, framework, method, output, start) => {
  const { options, evidence } = await detect({ 'package.json': packageJson([dependency], { scripts }) });
  expect(options[0]).toMatchObject({
    deploy_method: method,
    framework,
    install_command: 'npm install',
    build_command: 'npm run build',
    output_dir: output,
    start_command: start,
  });
  expect(evidence[0]).toEqual({ file: 'package.json', says: `depends on ${dependency}` });
});

test('the output of Angular is where its builder writes it', async () => {
  const output = async (build: object) => {
    const files = {
      'package.json': packageJson(['@angular/core'], { scripts }),
      'angular.json': JSON.stringify({ projects: { shop: { architect: { build } } } }),
    };
    return (await detect(files)).options[0]?.output_dir;
  };
  expect(await output({ builder: '@angular/build:application' })).toBe('dist/shop/browser');
  expect(await output({ builder: '@angular/build:application', options: { outputPath: 'out' } })).toBe(
    'out/browser',
  );
  const named = { outputPath: { base: 'out', browser: '' } };
  expect(await output({ builder: '@angular/build:application', options: named })).toBe('out');
  expect(
    await output({ builder: '@angular-devkit/build-angular:browser', options: { outputPath: 'dist/a' } }),
  ).toBe('dist/a');
  expect(await output({})).toBe('dist/shop');
});

test('the output of Eleventy is where its configuration or its script says', async () => {
  const output = async (files: Record<string, string>, build = 'npx @11ty/eleventy') =>
    (await detect({ 'package.json': packageJson(['@11ty/eleventy'], { scripts: { build } }), ...files }))
      .options[0]?.output_dir;
  expect(await output({ 'eleventy.config.js': "return { dir: { output: 'public' } }" })).toBe('public');
  expect(await output({ '.eleventy.js': 'config.setOutputDirectory("./out/")' })).toBe('out');
  expect(await output({}, 'npx @11ty/eleventy --output=site')).toBe('site');
  expect(await output({ 'eleventy.config.js': "output: '../x'" })).toBe('_site');
});

test('a framework that only the build script names is found', async () => {
  const first = async (build: string, more: Record<string, unknown> = {}) => {
    const { options, evidence } = await detect({
      'package.json': JSON.stringify({ scripts: { build }, ...more }),
    });
    return [options[0]?.framework, options[0]?.output_dir, evidence[0]?.says];
  };
  expect(await first('npx @11ty/eleventy --input=src --output=dist')).toEqual([
    'eleventy',
    'dist',
    'builds with @11ty/eleventy',
  ]);
  expect(await first('npm run clean && npx --yes @11ty/eleventy@3')).toEqual([
    'eleventy',
    '_site',
    'builds with @11ty/eleventy',
  ]);
  expect(await first('npx vite build', { devDependencies: { vite: '8' } })).toEqual([
    'vite',
    'dist',
    'depends on vite',
  ]);
  expect(await first('npx vitest')).toEqual([null, null, 'declares a JavaScript package']);
});

test('React Router without a server is a site, whatever its start script says', async () => {
  const first = async (
    config: string,
    dependencies = ['@react-router/serve', '@react-router/dev', 'vite'],
  ) => {
    const files = {
      'package.json': packageJson(dependencies, { scripts }),
      'react-router.config.ts': config,
    };
    const { framework, deploy_method, output_dir } = (await detect(files)).options[0] ?? {};
    return [framework, deploy_method, output_dir];
  };
  const site = ['react-router', 'static', 'build/client'];
  expect(await first('export default { ssr: false, appDirectory: "src" } satisfies Config;')).toEqual(site);
  expect(await first('export default {\n  ssr: false,\n};', ['@react-router/dev', 'vite'])).toEqual(site);
  expect(await first("{ ssr: false, buildDirectory: './out' }")).toEqual([
    'react-router',
    'static',
    'out/client',
  ]);
  const program = ['react-router', 'docker', null];
  expect(await first('export default { ssr: true };')).toEqual(program);
  expect(await first('export default {\n  // ssr: false,\n};')).toEqual(program);
});

test('a bundler beside a program that cross-env starts is a tool of that program', async () => {
  const start = 'cross-env NODE_ENV=production node ./server.js';
  const files = { 'package.json': packageJson(['vite', 'express'], { scripts: { ...scripts, start } }) };
  expect((await detect(files)).options[0]).toMatchObject({
    deploy_method: 'docker',
    framework: 'express',
    start_command: 'npm run start',
  });
});

test('VitePress is built by the script that it adds', async () => {
  const own = { 'docs:build': 'vitepress build docs', start: 'x' };
  expect(
    (await detect({ 'package.json': packageJson(['vitepress'], { scripts: own }) })).options[0],
  ).toMatchObject({ build_command: 'npm run docs:build', output_dir: 'docs/.vitepress/dist' });
});

test('NestJS starts what was built', async () => {
  const start = async (more: Record<string, string>) =>
    (
      await detect({
        'package.json': packageJson(['@nestjs/core'], {
          scripts: { ...scripts, start: 'nest start', ...more },
        }),
      })
    ).options[0]?.start_command;
  expect(await start({ 'start:prod': 'node dist/main' })).toBe('npm run start:prod');
  expect(await start({})).toBe('npm run start');
});

test('a bundler is named after its UI library', async () => {
  const { options } = await detect({ 'package.json': packageJson(['vite', 'react'], { scripts }) });
  expect(options.map((option) => [option.framework, option.deploy_method])).toEqual([
    ['react', 'static'],
    ['react', 'docker'],
  ]);
});

test('a static export of Next.js is served as files', async () => {
  const files = {
    'package.json': packageJson(['next'], { scripts }),
    'next.config.mjs': "export default { output: 'export' }",
  };
  expect((await detect(files)).options[0]).toMatchObject({
    deploy_method: 'static',
    output_dir: 'out',
    start_command: null,
  });
});

test.each([
  ['package-lock.json', 'npm', 'npm ci', 'npm run build'],
  ['pnpm-lock.yaml', 'pnpm', 'pnpm install --frozen-lockfile', 'pnpm run build'],
  ['yarn.lock', 'yarn', 'yarn install --frozen-lockfile', 'yarn run build'],
  ['bun.lock', 'bun', 'bun install --frozen-lockfile', 'bun run build'],
])('%s selects the package manager %s', async (lock, manager, install, build) => {
  const { options, packageManager, evidence } = await detect({
    'package.json': packageJson(['astro'], { scripts }),
    [lock]: '',
  });
  expect([packageManager, options[0]?.install_command, options[0]?.build_command]).toEqual([
    manager,
    install,
    build,
  ]);
  expect(evidence.map(({ file }) => file)).toContain(lock);
});

test('without a start script the main file is run, if its name is safe in a shell', async () => {
  const plain = await detect({ 'package.json': packageJson([], { main: 'src/main.js' }), 'src/main.js': '' });
  expect(plain.options[0]?.start_command).toBe('node src/main.js');
  const odd = '$(touch x).js';
  const unsafe = await detect({ 'package.json': packageJson([], { main: odd }), [odd]: '' });
  expect(unsafe.options.map(({ start_command }) => start_command)).toEqual([null]);
});

test('a Dockerfile comes first, a compose file second, and the others are alternatives', async () => {
  const { options, evidence } = await detect({
    Dockerfile: 'FROM scratch',
    'compose.yaml': '',
    'package.json': packageJson(['vite'], { scripts }),
  });
  expect(
    options.map((option) => [
      option.deploy_method,
      option.dockerfile ?? option.compose_file ?? option.output_dir,
    ]),
  ).toEqual([
    ['docker', 'Dockerfile'],
    ['compose', 'compose.yaml'],
    ['static', 'dist'],
  ]);
  expect(evidence.map(({ file }) => file)).toEqual(['compose.yaml', 'Dockerfile', 'package.json']);
});

test.each([
  [
    { 'requirements.txt': 'Flask==3', 'app.py': '' },
    'python',
    'flask',
    'python -m flask --app app run --host 0.0.0.0 --port $PORT',
  ],
  [
    { 'requirements.txt': 'fastapi', 'main.py': '' },
    'python',
    'fastapi',
    'python -m uvicorn main:app --host 0.0.0.0 --port $PORT',
  ],
  // As projects are laid out: a package, a factory, a module below a package, another name.
  [
    { 'pyproject.toml': 'dependencies = ["flask"]', 'shop/__init__.py': 'app = Flask(__name__)\n' },
    'python',
    'flask',
    'python -m flask --app shop run --host 0.0.0.0 --port $PORT',
  ],
  [
    {
      'setup.cfg': '[metadata]\nname = flaskr\n',
      'setup.py': 'setup(install_requires=["Flask", "gunicorn"])',
      'tests/conftest.py': 'app = create_app()\n',
      'flaskr/__init__.py': 'def create_app(test_config=None):\n    app = Flask(__name__)\n    return app\n',
    },
    'python',
    'flask',
    "gunicorn 'flaskr:create_app()' --bind 0.0.0.0:$PORT",
  ],
  [
    {
      'requirements.txt': 'flask\ngunicorn',
      'wsgi.py': 'web = create_app("production")\n',
      'app/__init__.py': '',
    },
    'python',
    'flask',
    'gunicorn wsgi:web --bind 0.0.0.0:$PORT',
  ],
  [
    { 'requirements.txt': 'fastapi[standard]', 'app/main.py': 'api: FastAPI = FastAPI(title="x")\n' },
    'python',
    'fastapi',
    'python -m uvicorn app.main:api --host 0.0.0.0 --port $PORT',
  ],
  [
    { 'requirements.txt': 'Django>=5', 'manage.py': '', 'mysite/wsgi.py': '' },
    'python',
    'django',
    'python manage.py migrate --noinput && python manage.py runserver 0.0.0.0:$PORT --noreload',
  ],
  [
    { 'requirements.txt': 'django\ngunicorn', 'manage.py': '', 'mysite/wsgi.py': '' },
    'python',
    'django',
    'python manage.py migrate --noinput && gunicorn mysite.wsgi --bind 0.0.0.0:$PORT',
  ],
  [{ 'go.mod': 'module x' }, 'go', null, './app'],
  [{ Gemfile: "gem 'rails'" }, 'ruby', 'rails', 'bundle exec rails server -b 0.0.0.0 -p $PORT'],
  [{ 'composer.json': '{}', 'public/index.php': '' }, 'php', null, 'php -S 0.0.0.0:$PORT -t public'],
  [{ 'Cargo.toml': '[package]\nname = "shop"' }, 'rust', null, './target/release/shop'],
  [{ 'pom.xml': '' }, 'java', null, null],
] as [Record<string, string>, string, string | null, string | null][])(
  'the language of %p is detected',
  async (files, language, framework, start) => {
    expect((await detect(files)).options[0]).toMatchObject({
      language,
      framework,
      start_command: start,
      deploy_method: 'docker',
    });
  },
);

describe('build settings for other hosts', () => {
  const bundled = packageJson(['vite', 'react'], { scripts });
  const best = async (files: Record<string, string>) => (await detect(files)).options[0];

  test('netlify.toml sets command and folder of a site, and is named as the reason', async () => {
    const { options, evidence } = await detect({
      'package.json': bundled,
      'netlify.toml': `[[headers]]\n  for = "/*"\n[build] # the site\n  command = "npm run build \\"x\\""\n  publish = './public/' # here\n[build.environment]\n  command = "no"\n`,
    });
    expect(options[0]).toMatchObject({
      deploy_method: 'static',
      framework: 'react',
      install_command: 'npm install',
      build_command: 'npm run build "x"',
      output_dir: 'public',
      start_command: null,
    });
    expect(options.filter(({ deploy_method: method }) => method === 'static')).toHaveLength(1);
    expect(evidence[0]).toEqual({ file: 'netlify.toml', says: 'sets the build command, the output folder' });
  });

  test('vercel.json sets three steps, and an empty command is none', async () => {
    const vercel = { installCommand: '', buildCommand: 'make', outputDirectory: 'web', framework: null };
    expect(await best({ 'package.json': bundled, 'vercel.json': JSON.stringify(vercel) })).toMatchObject({
      install_command: null,
      build_command: 'make',
      output_dir: 'web',
    });
  });

  test('a project that nothing else is known of is a site with them', async () => {
    expect(await best({ 'netlify.toml': '[build]\ncommand = "./make.sh"\npublish = "out"\n' })).toMatchObject(
      {
        deploy_method: 'static',
        build_command: './make.sh',
        output_dir: 'out',
      },
    );
    expect(await best({ 'netlify.toml': '[build]\npublish = "../out"\n' })).toBeUndefined();
    expect(await best({ 'vercel.json': '{' })).toBeUndefined();
  });

  test('the server of a framework runs, whatever folder is named', async () => {
    expect(
      await best({
        'package.json': packageJson(['next'], { scripts }),
        'netlify.toml': '[build]\n  command = "next build"\n  publish = ".next"\n',
      }),
    ).toMatchObject({ deploy_method: 'docker', build_command: 'next build', output_dir: null });
  });

  test('the base is the folder to build in', async () => {
    const files = {
      'package.json': packageJson(['express'], { scripts }),
      'web/package.json': bundled,
      'netlify.toml': '[build]\n  base = "web/"\n  publish = "public"\n',
    };
    expect((await detect(files)).options[0]).toMatchObject({
      dir: 'web',
      deploy_method: 'static',
      install_command: 'npm install',
      output_dir: 'public',
    });
  });
});

test('HTML pages alone are served as a static site', async () => {
  expect((await detect({ 'index.html': '' })).options[0]).toMatchObject({
    deploy_method: 'static',
    output_dir: '.',
  });
  expect((await detect({ 'public/index.html': '' })).options[0]).toMatchObject({ output_dir: 'public' });
});

test('nothing is detected in a folder without known files', async () => {
  expect(await detect({ 'notes.txt': '' })).toEqual({ options: [], packageManager: null, evidence: [] });
});

test('any package.json is handled, and commands contain only safe names from it', async () => {
  const odd = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constantFrom('null', '[]', '{"scripts":null}', '{"dependencies":[1]}'),
  );
  await fc.assert(
    fc.asyncProperty(odd, async (text) => {
      const { options } = await detect({ 'package.json': text });
      for (const option of options) expect(option.start_command ?? '').toMatch(/^[\w ./@-]*$/);
    }),
  );
});
