import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run, type Svc } from './support/commands.ts';
import { corpus, json, type Project, submitName, waitForText } from './support/corpus.ts';
import { type Files, writeFiles } from './support/server.ts';
import { until } from './support/until.ts';

/** Debian's packages: python3-flask, python3-django, python3-fastapi, python3-uvicorn, python3-multipart, python3-gunicorn. */
const hasPython = ['flask', 'django', 'fastapi', 'uvicorn', 'multipart', 'gunicorn'].every((name) =>
  existsSync(`/usr/lib/python3/dist-packages/${name}`),
);
if (/\bpython\b/.test(process.env.SVC_TEST_REQUIRE ?? ''))
  test('Flask, Django and FastAPI are on this machine', () => expect(hasPython).toBe(true));

const hardCoded: Files = {
  'package.json': json({ name: 'hard-coded', scripts: { start: 'node index.js' } }),
  'index.js': `require('node:http')
  .createServer((request, response) => response.end('At ' + request.url))
  .listen(8123);
`,
};

/** Without a database: what is posted is added to a file of the project. */
const guestBook: Files = {
  'package.json': json({ name: 'guest-book', scripts: { start: 'node index.js' } }),
  'public/style.css': 'body { font-family: sans-serif }\n',
  'data.txt': 'Hello everybody\n',
  'index.js': `const { appendFileSync, readFileSync } = require('node:fs');
const form = '<form method="post"><label>Name <input name="name"></label><button>Send</button></form>';
const lines = () => readFileSync('data.txt', 'utf8').trim().split('\\n');
require('node:http')
  .createServer(async (request, response) => {
    if (request.url === '/style.css') return response.end(readFileSync('public/style.css'));
    if (request.method === 'POST') {
      let body = '';
      for await (const piece of request) body += piece;
      appendFileSync('data.txt', 'Hello ' + new URLSearchParams(body).get('name') + '\\n');
      return response.writeHead(303, { location: '/' }).end();
    }
    const [, line] = /^.lines.(\\d+)$/.exec(request.url) ?? [];
    const shown = line ? lines()[line - 1] : lines().join('<br>');
    response.setHeader('content-type', 'text/html');
    response.end('<link rel="stylesheet" href="/style.css"><h1>Guest book</h1>' + form + '<p>' + shown + '</p>');
  })
  .listen(process.env.PORT || 3000);
`,
};

/** As for Heroku. The programs of the packages are called by their names. */
const procfile: Files = {
  'package.json': json({
    name: 'procfile',
    dependencies: { serve: '^14.2.0' },
    scripts: { start: 'echo this is not started; exit 1' },
  }),
  Procfile: `release: node release.js
web: serve --no-clipboard -l tcp://0.0.0.0:$PORT pages
worker: node worker.js
`,
  'pages/index.html': '<link rel="stylesheet" href="style.css"><h1>Started by the Procfile</h1>\n',
  'pages/style.css': 'body { font-family: sans-serif }\n',
  'pages/about.html': '<h1>About it</h1>\n',
  'release.js': "console.log('The release command has run.');\n",
  'worker.js': "setInterval(() => console.log('The worker works.'), 1000);\n",
};

interface Usage {
  process: string;
  cpu_ms: number;
  memory_bytes: number;
}

/** For Netlify: nothing else says what is built and served. */
const netlify: Files = {
  'package.json': json({ name: 'site', dependencies: { marked: '^16.0.0' } }),
  'netlify.toml':
    '[build]\n  command = "marked -i index.md -o web/index.html && cp style.css web"\n  publish = "web"\n',
  'web/about/index.html': '<h1>About it</h1>\n',
  'style.css': 'h1 { color: seagreen }\n',
  'index.md': '<link rel="stylesheet" href="/style.css">\n\n# Made by marked\n',
};

const flaskWithProcfile: Files = {
  Procfile: 'web: /usr/bin/python3 -m flask --app app run --host 0.0.0.0 --port $PORT\n',
  'static/style.css': 'body { font-family: sans-serif }\n',
  'app.py': `from flask import Flask, flash, redirect, render_template_string, request, session, url_for

app = Flask(__name__)
app.secret_key = 'only for this test'

PAGE = '''<link rel="stylesheet" href="{{ url_for('static', filename='style.css') }}"><h1>Flask</h1>
<form method="post"><label>Name <input name="name"></label><button>Send</button></form>
{% for text in get_flashed_messages() %}<p>{{ text }}</p>{% endfor %}'''

@app.route('/', methods=['GET', 'POST'])
def home():
    if request.method == 'POST':
        flash('Hello ' + request.form['name'])
        return redirect(url_for('home', _external=True))
    return render_template_string(PAGE)

@app.route('/items/<int:number>')
def item(number):
    return f'Item {number}'
`,
};

const flaskWheels = ['Flask', 'Werkzeug', 'Jinja2', 'MarkupSafe', 'itsdangerous', 'click'];

const { Procfile: _, ...flaskFiles } = flaskWithProcfile;
const flaskWithGunicorn = async (folder: string) => {
  writeFiles(folder, flaskFiles);
  await requireWheels(folder, ['gunicorn', ...flaskWheels]);
};

/** An example of the Flask project itself (BSD licence); its page posts a form with `fetch`. */
const flask = async (folder: string) => {
  cpSync(join(import.meta.dir, 'fixtures/flask-javascript'), folder, { recursive: true });
  await requireWheels(folder, flaskWheels);
};

/** Examples of FastAPI's own documentation in one file (MIT licence). */
const fastApi = async (folder: string) => {
  cpSync(join(import.meta.dir, 'fixtures/fastapi-example'), folder, { recursive: true });
  const required = 'six asgiref starlette anyio sniffio idna pydantic typing_extensions h11 click'.split(' ');
  await requireWheels(folder, ['fastapi', 'uvicorn', 'python-multipart', ...required]);
};

const django = async (folder: string) => {
  mkdirSync(folder, { recursive: true });
  await mustRun(['/usr/bin/django-admin', 'startproject', 'mysite', folder]);
  await requireWheels(folder, ['Django', 'asgiref', 'sqlparse', 'pytz']);
};

/** A requirements.txt, with the packages of Debian as wheels: not every machine has access to a registry of Python packages. */
async function requireWheels(folder: string, names: string[]): Promise<void> {
  writeFiles(folder, { 'requirements.txt': `--no-index\n--find-links wheels\n${names.join('\n')}\n` });
  mkdirSync(join(folder, 'wheels'));
  await mustRun(['/usr/bin/python3', '-c', wheelScript, join(folder, 'wheels'), ...names]);
}

const wheelScript = `
import base64, hashlib, importlib.metadata, pathlib, re, sys, zipfile
root = pathlib.Path('/usr/lib/python3/dist-packages')
def wheel(name, out):
    found = importlib.metadata.distribution(name)
    title = re.sub(r'[^A-Za-z0-9.]+', '_', found.metadata['Name']) + '-' + found.version
    files = {}
    for top in (found.read_text('top_level.txt') or found.metadata['Name']).split():
        below = sorted((root / top).rglob('*')) if (root / top).is_dir() else [root / (top + '.py')]
        files |= {str(path.relative_to(root)): path.read_bytes() for path in below
                  if path.is_file() and path.suffix != '.pyc'}
    head = ['Metadata-Version: 2.1', 'Name: ' + found.metadata['Name'], 'Version: ' + found.version]
    info = title + '.dist-info/'
    files[info + 'METADATA'] = chr(10).join(head + ['']).encode()
    files[info + 'WHEEL'] = b'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
    scripts = found.read_text('entry_points.txt')
    files |= {info + 'entry_points.txt': scripts.encode()} if scripts else {}
    hashes = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode() for path, data in files.items()}
    record = [f'{path},sha256={hashes[path]},{len(data)}' for path, data in files.items()] + [info + 'RECORD,,', '']
    with zipfile.ZipFile(f'{out}/{title}-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(info + 'RECORD', chr(10).join(record))
for name in sys.argv[2:]:
    wheel(name, sys.argv[1])
`;

async function logs(svc: Svc, app: string, text: RegExp): Promise<void> {
  await until(`the log says ${text}`, async () => text.test((await svc(['logs', '--app', app])).stdout));
}

async function mustRun(command: string[]): Promise<void> {
  const ran = await run(command);
  if (ran.code !== 0) throw new Error(ran.stderr);
}

const python: Project[] = [
  {
    name: 'Flask, as a package without a Procfile',
    source: flask,
    home: 'Calculate',
    deep: ['/xhr', 'XMLHttpRequest'],
    hasAssets: false,
    async check({ page, url }) {
      await page.goto(url);
      await page.getByLabel('a').fill('20');
      await page.getByLabel('b').fill('22');
      await page.getByRole('button', { name: 'Calculate' }).click();
      await waitForText(page, '42');
    },
  },
  {
    name: 'Flask with a Procfile',
    source: flaskWithProcfile,
    home: 'Flask',
    deep: ['/items/7', 'Item 7'],
    check: ({ page, url }) => submitName(page, url),
  },
  {
    name: 'Flask without a Procfile, with gunicorn among its requirements',
    source: flaskWithGunicorn,
    home: 'Flask',
    deep: ['/items/7', 'Item 7'],
    async check({ page, url, svc, app }) {
      await submitName(page, url);
      await logs(svc, app, /Starting gunicorn \d+/);
    },
  },
  {
    name: 'FastAPI',
    source: fastApi,
    home: 'World',
    deep: ['/items/5?q=somequery', 'somequery'],
    hasAssets: false,
    async check({ page, url }) {
      await page.goto(`${url}/openapi.json`);
      await waitForText(page, 'Create Upload Files');
      await page.goto(`${url}/client/5`);
      await waitForText(page, '{"client_host":"127.0.0.1","item_id":"5"}');
      const put = await page.evaluate(async () => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ name: 'Lamp', price: 3.5 });
        return (await fetch('/items/5', { method: 'PUT', headers, body })).json();
      });
      expect(put).toEqual({ item_name: 'Lamp', item_id: 5 });
      await page.goto(`${url}/form`);
      const file = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.locator('input[type=submit]').click();
      await waitForText(page, '{"filenames":["notes.txt"]}');
    },
  },
  {
    name: 'django-admin startproject, with a database file in its folder',
    source: django,
    home: 'The install worked successfully!',
    deep: ['/admin/login/', 'Django administration'],
    async check({ page, url }) {
      await page.goto(`${url}/admin/login/`);
      await page.getByLabel('Username').fill('ada');
      await page.getByLabel('Password').fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      await waitForText(page, 'Please enter the correct username and password');
    },
  },
];

corpus('a habit of real projects', [
  {
    name: 'a hard-coded port',
    source: hardCoded,
    home: 'At /',
    deep: ['/items/7', 'At /items/7'],
    hasAssets: false,
    check: ({ svc, app }) => logs(svc, app, /The app listens on port 8123, not on PORT \(\d+\)/),
  },
  {
    name: 'what visitors post is written into its folder',
    source: guestBook,
    home: 'Hello everybody',
    deep: ['/lines/1', 'Hello everybody'],
    async check({ page, url }) {
      await submitName(page, url);
      await page.goto(`${url}/lines/2`);
      await waitForText(page, 'Hello Ada');
    },
  },
  {
    name: 'a Procfile with release, web and worker',
    source: procfile,
    home: 'Started by the Procfile',
    deep: ['/about', 'About it'],
    check: async ({ svc, app }) => {
      const listed = await svc(['deployments', 'list', '--app', app, '--json']);
      const [deployment] = listed.json<{ items: { id: string }[] }>().items;
      const built = await svc(['deployments', 'logs', deployment?.id ?? '', '--app', app]);
      expect(built.stdout).toContain('The release command has run.');
      await until('the worker has logged', async () => {
        const { stdout } = await svc(['logs', '--app', app, '--process', 'worker']);
        return stdout.includes('The worker works.');
      });
      // Usage is measured and stored every ten seconds.
      const used = await until(
        'the usage of the worker is stored',
        async () => {
          const line = ['metrics', '--app', app, '--process', 'worker', '--json'];
          const { processes } = (await svc(line)).json<{ processes: Usage[] }>();
          return processes.find(({ process, memory_bytes }) => process === 'worker' && memory_bytes > 0);
        },
        60_000,
      );
      expect(used.cpu_ms).toBeGreaterThan(0);
    },
  },
  {
    name: 'build settings in netlify.toml',
    source: netlify,
    home: 'Made by marked',
    deep: ['/about', 'About it'],
  },
  ...(hasPython ? python : []),
]);
