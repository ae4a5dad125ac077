import { type Detected, type Evidence, noWay, type Way } from './detected.ts';
import type { SourceFiles } from './source-files.ts';

/** What is not JavaScript, by the file that every project of its kind has. */
export async function detectOther(files: SourceFiles): Promise<Detected | null> {
  for (const detect of [python, go, ruby, php, rust, java, plainSite]) {
    const found = await detect(files);
    if (found) return found;
  }
  return null;
}

function found(way: Partial<Way>, evidence: Evidence[], packageManager: string | null = null): Detected {
  return { ways: [{ ...noWay, ...way }], packageManager, evidence };
}

async function python(files: SourceFiles): Promise<Detected | null> {
  const file = ['requirements.txt', 'pyproject.toml', 'Pipfile'].find((name) => files.paths.has(name));
  if (!file) return null;
  const text = (await files.read(file)) ?? '';
  const module = ['main', 'app', 'wsgi', 'server'].find((name) => files.paths.has(`${name}.py`));
  const framework = ['django', 'fastapi', 'flask'].find((name) =>
    new RegExp(`\\b${name}\\b`, 'i').test(text),
  );
  const starts: Readonly<Record<string, string | null>> = {
    django: files.paths.has('manage.py') ? 'python manage.py runserver 0.0.0.0:$PORT --noreload' : null,
    fastapi: module ? `python -m uvicorn ${module}:app --host 0.0.0.0 --port $PORT` : null,
    flask: module ? `python -m flask --app ${module} run --host 0.0.0.0 --port $PORT` : null,
  };
  const start = framework ? starts[framework] : module ? `python ${module}.py` : null;
  const install = {
    'requirements.txt': 'python -m pip install -r requirements.txt',
    Pipfile: 'pipenv install',
  };
  const way = {
    language: 'python',
    framework: framework ?? null,
    install_command: install[file as keyof typeof install] ?? 'python -m pip install .',
    start_command: start ?? null,
  } as const;
  const says = framework ? `names ${framework}` : 'a project of Python';
  return found(way, [{ file, says }], file === 'Pipfile' ? 'pipenv' : 'pip');
}

async function go(files: SourceFiles): Promise<Detected | null> {
  if (!files.paths.has('go.mod')) return null;
  const way = { language: 'go', build_command: 'go build -o app .', start_command: './app' } as const;
  return found(way, [{ file: 'go.mod', says: 'a module of Go' }], 'go');
}

async function ruby(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('Gemfile');
  if (text === null) return null;
  const isRails = /^\s*gem\s+['"]rails['"]/m.test(text);
  const way = {
    language: 'ruby',
    framework: isRails ? 'rails' : null,
    install_command: 'bundle install',
    start_command: isRails
      ? 'bundle exec rails server -b 0.0.0.0 -p $PORT'
      : files.paths.has('config.ru')
        ? 'bundle exec rackup -o 0.0.0.0 -p $PORT'
        : null,
  } as const;
  return found(way, [{ file: 'Gemfile', says: isRails ? 'names rails' : 'a project of Ruby' }], 'bundler');
}

async function php(files: SourceFiles): Promise<Detected | null> {
  const file = ['composer.json', 'index.php', 'public/index.php'].find((name) => files.paths.has(name));
  if (!file) return null;
  const root = files.paths.has('public/index.php') ? 'public' : '.';
  const way = {
    language: 'php',
    install_command: file === 'composer.json' ? 'composer install --no-dev' : null,
    start_command: `php -S 0.0.0.0:$PORT -t ${root}`,
  } as const;
  return found(way, [{ file, says: 'a project of PHP' }], file === 'composer.json' ? 'composer' : null);
}

async function rust(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('Cargo.toml');
  if (text === null) return null;
  const name = /^\s*name\s*=\s*"([\w-]+)"/m.exec(text)?.[1];
  const way = {
    language: 'rust',
    build_command: 'cargo build --release',
    start_command: name ? `./target/release/${name}` : null,
  } as const;
  return found(way, [{ file: 'Cargo.toml', says: 'a crate of Rust' }], 'cargo');
}

async function java(files: SourceFiles): Promise<Detected | null> {
  const file = ['pom.xml', 'build.gradle', 'build.gradle.kts'].find((name) => files.paths.has(name));
  if (!file) return null;
  const maven = file === 'pom.xml';
  const build = maven ? 'mvn -q package -DskipTests' : 'gradle build -x test';
  const way = { language: 'java', build_command: build } as const;
  return found(way, [{ file, says: 'a project of Java' }], maven ? 'maven' : 'gradle');
}

/** Files to be served as they are. */
async function plainSite(files: SourceFiles): Promise<Detected | null> {
  const folder = ['', 'public/', 'dist/', 'site/'].find((name) => files.paths.has(`${name}index.html`));
  if (folder === undefined) return null;
  const way = {
    deploy_method: 'static',
    language: 'html',
    output_dir: folder.replace(/\/$/, '') || '.',
  } as const;
  return found(way, [{ file: `${folder}index.html`, says: 'pages to be served as they are' }]);
}
