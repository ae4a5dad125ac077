import { row } from './fixtures.ts';
import type { Person } from './people.ts';
import type { World } from './world.ts';

export async function deletedRow(world: World, owner: Person) {
  const params = await row(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}/${params.id}`;
  const { headers } = await owner.call('DELETE', path);
  return { ...params, requestID: headers.get('x-request-id') as string };
}
