import { fileTable, row, rowBody } from './fixtures.ts';
import type { Person } from './people.ts';
import type { World } from './world.ts';

export async function deletedRow(world: World, owner: Person) {
  const params = await row(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}/${params.id}`;
  const { headers } = await owner.call('DELETE', path);
  return { ...params, requestID: headers.get('x-request-id') as string };
}

export async function rowWithFile(world: World, owner: Person) {
  const params = await fileTable(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}`;
  const announced = { column: 'photo', name: 'rex.png', type: 'image/png', size: 3 };
  const { file, put_url, headers } = (await owner.call('POST', `${path}/_files`, announced)).body;
  await fetch(put_url, { method: 'PUT', headers, body: 'abc' });
  const { id } = (await owner.call('POST', path, { ...rowBody(), photo: file })).body;
  return { ...params, id: id as string };
}
