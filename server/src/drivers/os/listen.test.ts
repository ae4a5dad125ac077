import { expect, test } from 'bun:test';
import { explainPortInUse } from './listen.ts';

const listen = (port: number) => Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => {} } });

test('a port in use is an error that names its setting, for each kind of listener', () => {
  const taken = listen(0);
  const { port } = taken;
  const setting = { variable: 'SVC_PORT', port };
  const message = `port ${port} is in use. Stop the program that uses it, or set SVC_PORT to another port.`;
  expect(() => explainPortInUse(setting, () => listen(port))).toThrow(message);
  const fetch = () => new Response('');
  expect(() => explainPortInUse(setting, () => Bun.serve({ hostname: '127.0.0.1', port, fetch }))).toThrow(
    message,
  );
  taken.stop(true);
});

test('other errors are passed on', () => {
  const fault = new Error('something else');
  expect(() =>
    explainPortInUse({ variable: 'SVC_PORT', port: 1 }, () => {
      throw fault;
    }),
  ).toThrow(fault);
});
