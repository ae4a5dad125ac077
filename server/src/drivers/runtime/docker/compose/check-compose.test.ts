// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how compose files name variables.
import { describe, expect, test } from 'bun:test';
import { checkCompose } from './check-compose.ts';
import { interpolate, withoutReferences } from './compose-app.ts';

const service = (more: string) => `services:\n  web:\n    image: nginx\n    expose: [80]\n${more}`;
const line = (text: string) => service(`    ${text}\n`);

/** Each reaches for something outside of the app. */
const hostile: [what: string, file: string, told: RegExp][] = [
  ['a folder of the machine', line('volumes: ["/etc:/etc"]'), /service web: volumes .*folders of the host/],
  ['a folder beside the source', line('volumes: ["./data:/data"]'), /volumes .*folders of the host/],
  ['a folder by a home', line('volumes: ["~/x:/x"]'), /volumes/],
  ['a bind mount in the long form', line('volumes: [{type: bind, source: /, target: /host}]'), /volumes/],
  ['a tmpfs in the long form', line('volumes: [{type: tmpfs, target: /x}]'), /volumes/],
  ['the socket of the engine', line('volumes: ["/var/run/docker.sock:/s"]'), /volumes/],
  ['a folder by a variable', line('volumes: ["${WHERE}:/x"]'), /volumes/],
  ['a folder by the default of a variable', line('volumes: ["${NO:-/etc}:/x"]'), /volumes/],
  ['a volume that the file does not name', line('volumes: ["other:/x"]'), /volumes .*other/],
  [
    'a volume with an invalid mode',
    `${line('volumes: ["v:/x:rshared"]')}volumes: {v: }\n`,
    /volumes .*rshared/,
  ],
  ['a nameless volume', line('volumes: ["/data"]'), /volumes/],
  ['privileges', line('privileged: true'), /service web: privileged is not allowed/],
  ['the network of the machine', line('network_mode: host'), /network_mode/],
  ['the network of another container', line('network_mode: "container:x"'), /network_mode/],
  ['the processes of the machine', line('pid: host'), /pid/],
  ['the memory of the machine', line('ipc: host'), /ipc/],
  ['the users of the machine', line('userns_mode: host'), /userns_mode/],
  ['the control groups of the machine', line('cgroup_parent: /'), /cgroup_parent/],
  ['devices', line('devices: ["/dev/sda"]'), /devices/],
  ['capabilities', line('cap_add: [SYS_ADMIN]'), /cap_add/],
  ['security options', line('security_opt: ["seccomp:unconfined"]'), /security_opt/],
  ['settings of the kernel', line('sysctls: {net.core.somaxconn: 1}'), /sysctls/],
  ['volumes of others', line('volumes_from: ["container:x"]'), /volumes_from/],
  ['another runtime', line('runtime: nvidia'), /runtime/],
  ['a file of variables', line('env_file: /etc/environment'), /env_file .*svc env set/],
  ['another file', line('extends: {file: ../other.yaml, service: web}'), /extends/],
  ['its own limits', line('deploy: {resources: {limits: {memory: 64G}}}'), /deploy/],
  ['a name of its own', line('container_name: postgres'), /container_name/],
  ['networks', line('networks: [default]'), /networks/],
  ['something nobody knows', line('frobnicate: true'), /frobnicate is not supported/],
  ['an inclusion', `${line('')}include: [../other.yaml]\n`, /include/],
  ['a network of others', `${line('')}networks: {default: {external: true}}\n`, /networks/],
  ['a volume of others', `${line('')}volumes: {v: {external: true}}\n`, /volumes\.v\.external/],
  [
    'a volume that is a folder',
    `${line('')}volumes: {v: {driver_opts: {type: none, o: bind, device: /}}}\n`,
    /driver_opts/,
  ],
  ['a volume by another name', `${line('')}volumes: {v: {name: other}}\n`, /volumes\.v\.name/],
  ['secrets of files', `${line('')}secrets: {a: {file: /etc/shadow}}\n`, /secrets/],
  ['configs of files', `${line('')}configs: {a: {file: /etc/shadow}}\n`, /configs/],
  [
    'a build above the source',
    'services: {web: {build: .., expose: [80]}}',
    /build\.context .*below the source/,
  ],
  ['a build by an absolute path', 'services: {web: {build: /etc, expose: [80]}}', /build\.context/],
  [
    'a build from a URL',
    'services: {web: {build: "https://evil.test/x.git", expose: [80]}}',
    /build\.context/,
  ],
  [
    'a Dockerfile above',
    'services: {web: {build: {context: a, dockerfile: ../../x}, expose: [80]}}',
    /build\.dockerfile/,
  ],
  [
    'a build with secrets',
    'services: {web: {build: {context: ., secrets: [a]}, expose: [80]}}',
    /build\.secrets/,
  ],
  ['a build with ssh', 'services: {web: {build: {context: ., ssh: [default]}, expose: [80]}}', /build\.ssh/],
  [
    'a build with another network',
    'services: {web: {build: {context: ., network: host}, expose: [80]}}',
    /build\.network/,
  ],
  [
    'privileges by a merge',
    'x-a: &a {privileged: true}\nservices: {web: {<<: *a, image: x, expose: [80]}}',
    /privileged/,
  ],
  ['an image of another app', 'services: {web: {image: "localhost:1/svc/a:b", expose: [80]}}', /image/],
  ['an image by its ID', 'services: {web: {image: 40c92ef49362, expose: [80]}}', /image has 40c92ef49362/],
  ['an image by the first letters of its ID', 'services: {web: {image: "4", expose: [80]}}', /image has 4/],
  [
    'an image by an ID in a variable',
    'services: {web: {image: "${ID}", expose: [80]}}',
    /image has sha256:c0ffee/,
  ],
  ['an image that is an option', 'services: {web: {image: "--privileged", expose: [80]}}', /image/],
  ['a service name that is a path', 'services: {"../x": {image: x, expose: [80]}}', /invalid name/],
  [
    'too many services',
    `services: {${Array.from({ length: 11 }, (_, at) => `s${at}: {image: x}`).join()}}`,
    /more than 10/,
  ],
  [
    'endless aliases',
    `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}]\nc: &c [${'*b,'.repeat(9)}]\nservices: {web: {image: x, command: [${'*c,'.repeat(9)}]}}`,
    /cannot be parsed|not supported/,
  ],
  ['invalid YAML', '{', /cannot be parsed/],
  ['YAML that is not a compose file', '[]', /not a compose file/],
  ['no service', 'services: {}', /services is empty/],
  [
    'two possible main services',
    'services: {a: {image: x, expose: [1]}, b: {image: x, expose: [2]}}',
    /svc\.http/,
  ],
  ['no possible main service', 'services: {a: {image: x}}', /svc\.http/],
  ['a range of ports', 'services: {a: {image: x, ports: ["80-90:80-90"]}}', /not a single port/],
  ['a dependency on an unknown service', line('depends_on: [db]'), /depends_on .*db/],
];

describe('a compose file is rejected with service and key for', () => {
  test.each(hostile)('%s', (_, file, told) => {
    expect(() => checkCompose(file, { WHERE: '/etc', ID: 'sha256:c0ffee' })).toThrow(told);
  });
});

describe('a compose file', () => {
  test('is parsed', () => {
    const file = `
version: "3.8"
x-common: &common { restart: always, environment: { A: "1", B: } }
services:
  web:
    <<: *common
    build: { context: ./web, args: [X=1], target: run }
    command: ["node", "app.js"]
    ports: ["8000:3000", "127.0.0.1:9000:9000/udp"]
    depends_on: { db: { condition: service_healthy } }
  db:
    image: postgres:\${PG:-16}
    environment: ["POSTGRES_PASSWORD=\${SECRET}"]
    volumes: ["data:/var/lib/postgresql/data"]
    healthcheck: { test: ["CMD", "pg_isready"], interval: 1s }
volumes: { data: }
`;
    const app = checkCompose(file, {});
    expect(app).toMatchObject({ main: { service: 'web', port: 3000 }, volumes: ['data'] });
    expect(app.services.web).toMatchObject({
      build: { context: 'web', dockerfile: 'web/Dockerfile', target: 'run', args: { X: '1' } },
      environment: { A: '1', B: '${B}' },
      expose: [3000],
      dependsOn: { db: 'service_healthy' },
    });
    expect(app.services.db).toMatchObject({
      image: 'postgres:16',
      environment: { POSTGRES_PASSWORD: '${SECRET}' },
      volumes: [{ volume: 'data', target: '/var/lib/postgresql/data', mode: 'rw' }],
    });
  });

  test('has a main service by label, only port or the name web', () => {
    const main = (file: string) => checkCompose(file, {}).main;
    expect(main('services: {a: {image: x, expose: [1]}, b: {image: x, labels: {svc.http: 2}}}')).toEqual({
      service: 'b',
      port: 2,
    });
    expect(main('services: {a: {image: x, expose: [1]}, b: {image: x, labels: ["svc.http=2"]}}').port).toBe(
      2,
    );
    expect(main('services: {a: {image: x, ports: ["80:81"]}, b: {image: x}}')).toEqual({
      service: 'a',
      port: 81,
    });
    expect(main('services: {web: {image: x, expose: [1]}, b: {image: x, expose: [2]}}').service).toBe('web');
  });

  test('is interpolated with the app’s variables only, and escaped for the tool', () => {
    process.env.SVC_TEST_LEAK = 'of-the-server';
    const read = (text: string) => interpolate(text, { A: 'a', EMPTY: '' });
    expect(read('$A ${A} ${A:-b} ${NO:-b} ${NO-b} ${EMPTY:-b} ${EMPTY-b} ${A:+c} ${NO:+c}')).toBe(
      'a a a b b b  c ',
    );
    expect(read('$$A $SVC_TEST_LEAK ${SVC_TEST_LEAK} ${HOME}')).toBe('$A   ');
    expect(() => read('${NO:?wanted}')).toThrow('NO is not set: wanted');
    expect(withoutReferences({ a: ['${A} $$'] })).toEqual({ a: ['$${A} $$$$'] });
  });
});
