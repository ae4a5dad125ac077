import { type BuildSettings, type Detected, type Evidence, unknownSettings } from './settings.ts';
import type { SourceFiles } from './source-files.ts';

export async function detectOther(files: SourceFiles): Promise<Detected | null> {
  for (const detect of [detectGenerator, python, go, ruby, php, rust, java, plainSite]) {
    const result = await detect(files);
    if (result) return result;
  }
  return null;
}

function singleOption(
  settings: Partial<BuildSettings>,
  evidence: Evidence,
  packageManager: string | null = null,
): Detected {
  return { options: [{ ...unknownSettings, ...settings }], packageManager, evidence: [evidence] };
}

const generators: readonly { file: string; name: string; build: string; folder: string }[] = [
  { file: 'hugo.toml', name: 'hugo', build: 'hugo', folder: 'public' },
  { file: 'hugo.yaml', name: 'hugo', build: 'hugo', folder: 'public' },
  { file: 'mkdocs.yml', name: 'mkdocs', build: 'mkdocs build', folder: 'site' },
  { file: 'book.toml', name: 'mdbook', build: 'mdbook build', folder: 'book' },
  { file: '_config.yml', name: 'jekyll', build: 'bundle exec jekyll build', folder: '_site' },
];

export function detectGenerator({ paths }: SourceFiles): Detected | null {
  const generator = generators.find(({ file }) => paths.has(file));
  if (!generator) return null;
  const { file, name, build, folder } = generator;
  const settings = {
    deploy_method: 'static',
    language: 'html',
    framework: name,
    build_command: build,
    output_dir: folder,
  } as const;
  return singleOption(settings, { file, says: `configures ${name}` });
}

const pythonFiles = ['requirements.txt', 'pyproject.toml', 'Pipfile', 'setup.cfg', 'setup.py'] as const;

async function python(files: SourceFiles): Promise<Detected | null> {
  const file = pythonFiles.find((name) => files.paths.has(name));
  if (!file) return null;
  const read = file === 'setup.cfg' ? [file, 'setup.py'] : [file];
  const text = (await Promise.all(read.map((name) => files.read(name)))).join('\n');
  const names = (package_: string) => new RegExp(`\\b${package_}\\b`, 'i').test(text);
  const framework = ['django', 'fastapi', 'flask'].find(names) ?? null;
  const start = await pythonStart(files, framework, names);
  const isMigrated = framework === 'django' && start !== null && files.paths.has('manage.py');
  // Without a driver the database is a file in the folder, of which every instance and the release command have their own.
  const hasDatabaseServer = databaseDrivers.some(names);
  const settings = {
    language: 'python',
    framework,
    install_command: `python3 -m venv .venv && ${pythonInstalls[file] ?? 'pip install .'}`,
    release_command: isMigrated && hasDatabaseServer ? djangoMigrate : null,
    start_command: isMigrated && !hasDatabaseServer ? `${djangoMigrate} && ${start}` : start,
  } as const;
  const says = framework ? `names ${framework}` : 'declares a Python project';
  return singleOption(settings, { file, says }, file === 'Pipfile' ? 'pipenv' : 'pip');
}

const djangoMigrate = 'python manage.py migrate --noinput';

/** Python drivers of the database servers that Django supports. */
const databaseDrivers = [
  'psycopg(?:2|2-binary)?',
  'mysqlclient',
  'PyMySQL',
  'mysql-connector-python',
  'oracledb',
  'cx_Oracle',
  'mssql-django',
];

/** In the virtual environment, whose programs come first in `PATH`. */
const pythonInstalls: Readonly<Record<string, string>> = {
  'requirements.txt': 'pip install -r requirements.txt',
  Pipfile: 'pip install pipenv && pipenv install --deploy',
};

async function pythonStart(
  files: SourceFiles,
  framework: string | null,
  names: (package_: string) => boolean,
): Promise<string | null> {
  const { paths } = files;
  if (framework === 'django') {
    const project = [...paths]
      .map((path) => /^(\w+)\/wsgi\.py$/.exec(path)?.[1])
      .find((name) => name !== undefined);
    const gunicorn =
      project !== undefined && names('gunicorn') ? `gunicorn ${project}.wsgi --bind 0.0.0.0:$PORT` : null;
    if (!paths.has('manage.py')) return gunicorn;
    return gunicorn ?? 'python manage.py runserver 0.0.0.0:$PORT --noreload';
  }
  const app = framework === null ? null : await findPythonApp(files, framework);
  const file = pythonModules.find((name) => paths.has(`${name}.py`));
  if (framework === null) return file === undefined ? null : `python ${file}.py`;
  const { module, name } = app ?? { module: file, name: 'app' };
  if (module === undefined) return null;
  if (framework === 'fastapi') {
    const factory = name.endsWith('()') ? ' --factory' : '';
    return `python -m uvicorn ${module}:${name.replace('()', '')}${factory} --host 0.0.0.0 --port $PORT`;
  }
  const isUsual = ['app', 'application', 'create_app()', 'make_app()'].includes(name);
  return names('gunicorn')
    ? `gunicorn ${name.endsWith('()') ? `'${module}:${name}'` : `${module}:${name}`} --bind 0.0.0.0:$PORT`
    : `python -m flask --app ${isUsual ? module : `${module}:${name}`} run --host 0.0.0.0 --port $PORT`;
}

const pythonModules = ['main', 'app', 'wsgi', 'server', 'application', 'run', 'api'] as const;
const pythonFilesRead = 50;

/** The module that creates the app, and its name there; the files that people name like this come first. */
async function findPythonApp(
  { paths, read }: SourceFiles,
  framework: string,
): Promise<{ module: string; name: string } | null> {
  const rank = (path: string) => {
    const [file = '', folder] = path
      .replace(/^src\//, '')
      .replace(/\.py$/, '')
      .split('/')
      .reverse();
    const rank = (pythonModules as readonly string[]).indexOf(file);
    return (folder === undefined ? 0 : 100) + (rank < 0 ? 50 : rank);
  };
  const found = [...paths]
    .filter((path) => /^(?:src\/)?(?:\w+\/)?\w+\.py$/.test(path) && !/^tests?\/|(?:^|\/)test_/.test(path))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const name = framework === 'flask' ? 'Flask' : 'FastAPI';
  const created = new RegExp(
    String.raw`^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)?(?:${name}|create_app|make_app)\(`,
    'm',
  );
  for (const path of found.slice(0, pythonFilesRead)) {
    const text = (await read(path)) ?? '';
    const app = created.exec(text)?.[1] ?? (text.includes(`${name}(`) && factoryPattern.exec(text)?.[1]);
    if (!app) continue;
    const module = path
      .replace(/^src\//, '')
      .replace(/(?:\/__init__)?\.py$/, '')
      .replaceAll('/', '.');
    return { module, name: created.test(text) ? app : `${app}()` };
  }
  return null;
}

const factoryPattern = /^def ((?:create|make)_app)\(/m;

async function go(files: SourceFiles): Promise<Detected | null> {
  if (!files.paths.has('go.mod')) return null;
  const settings = { language: 'go', build_command: 'go build -o app .', start_command: './app' } as const;
  return singleOption(settings, { file: 'go.mod', says: 'declares a Go module' }, 'go');
}

async function ruby(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('Gemfile');
  if (text === null) return null;
  const isRails = /^\s*gem\s+['"]rails['"]/m.test(text);
  const settings = {
    language: 'ruby',
    framework: isRails ? 'rails' : null,
    install_command: 'bundle install',
    start_command: isRails
      ? 'bundle exec rails server -b 0.0.0.0 -p $PORT'
      : files.paths.has('config.ru')
        ? 'bundle exec rackup -o 0.0.0.0 -p $PORT'
        : null,
  } as const;
  return singleOption(
    settings,
    { file: 'Gemfile', says: isRails ? 'names rails' : 'declares a Ruby project' },
    'bundler',
  );
}

async function php(files: SourceFiles): Promise<Detected | null> {
  const file = ['composer.json', 'index.php', 'public/index.php'].find((name) => files.paths.has(name));
  if (!file) return null;
  const root = files.paths.has('public/index.php') ? 'public' : '.';
  const settings = {
    language: 'php',
    install_command: file === 'composer.json' ? 'composer install --no-dev' : null,
    start_command: `php -S 0.0.0.0:$PORT -t ${root}`,
  } as const;
  return singleOption(
    settings,
    { file, says: 'belongs to a PHP project' },
    file === 'composer.json' ? 'composer' : null,
  );
}

async function rust(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('Cargo.toml');
  if (text === null) return null;
  const name = /^\s*name\s*=\s*"([\w-]+)"/m.exec(text)?.[1];
  const settings = {
    language: 'rust',
    build_command: 'cargo build --release',
    start_command: name ? `./target/release/${name}` : null,
  } as const;
  return singleOption(settings, { file: 'Cargo.toml', says: 'declares a Rust crate' }, 'cargo');
}

async function java(files: SourceFiles): Promise<Detected | null> {
  const file = ['pom.xml', 'build.gradle', 'build.gradle.kts'].find((name) => files.paths.has(name));
  if (!file) return null;
  const maven = file === 'pom.xml';
  const build = maven ? 'mvn -q package -DskipTests' : 'gradle build -x test';
  const settings = { language: 'java', build_command: build } as const;
  return singleOption(settings, { file, says: 'declares a Java project' }, maven ? 'maven' : 'gradle');
}

const pageFolders = ['dist', 'build', 'out', '_site', 'public', 'site', 'www'] as const;

export function findPages(
  { paths }: SourceFiles,
  where: 'anywhere' | 'below_the_root' = 'anywhere',
): { folder: string; evidence: Evidence } | null {
  const folders = where === 'anywhere' ? ['.', ...pageFolders] : pageFolders;
  const folder = folders.find((name) => paths.has(indexPath(name)));
  if (folder === undefined) return null;
  return { folder, evidence: { file: indexPath(folder), says: 'is a page to serve as it is' } };
}

const indexPath = (folder: string) => (folder === '.' ? 'index.html' : `${folder}/index.html`);

function plainSite(files: SourceFiles): Detected | null {
  const pages = findPages(files);
  if (!pages) return null;
  return singleOption(
    { deploy_method: 'static', language: 'html', output_dir: pages.folder },
    pages.evidence,
  );
}
