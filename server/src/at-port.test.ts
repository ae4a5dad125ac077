import { expect, test } from 'bun:test';
import { atPort } from './at-port.ts';

const listen = (port: number) => Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => {} } });

test('a port that is taken is told with the setting that moves it, by each kind of listener', () => {
  const taken = listen(0);
  const { port } = taken;
  const place = { variable: 'SVC_PORT', port };
  const told = `port ${port} is in use. Stop what listens there, or set SVC_PORT to another port.`;
  expect(() => atPort(place, () => listen(port))).toThrow(told);
  const fetch = () => new Response('');
  expect(() => atPort(place, () => Bun.serve({ hostname: '127.0.0.1', port, fetch }))).toThrow(told);
  taken.stop(true);
});

test('another fault is passed on as it is', () => {
  const fault = new Error('something else');
  expect(() =>
    atPort({ variable: 'SVC_PORT', port: 1 }, () => {
      throw fault;
    }),
  ).toThrow(fault);
});
