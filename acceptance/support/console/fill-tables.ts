import type { Person, Tenant } from '../people.ts';
import { done, insertLines } from '../rows-proof.ts';

/** Two tables of an app: one with rows of every type, an index and grants, one that is still empty. */
export async function fillTables(
  tenant: Pick<Tenant, 'base' | 'slug'>,
  app: { id: string; slug: string },
  { owner, member }: { owner: Person; member: Person },
): Promise<void> {
  const tables = `${tenant.base}/apps/${app.id}/tables`;
  await done(
    owner.call('POST', tables, {
      name: 'bookings',
      description: 'Who has which room, and until when',
      columns: [
        'room:text',
        'seats:int',
        'guests:int:nullable',
        'price:float:nullable',
        'badge:bigint:nullable',
        'confirmed:bool:false',
        'starts_at:timestamptz',
        'made_by:uuid:nullable',
        'extras:jsonb:nullable',
        'note:text:nullable',
      ],
    }),
  );
  await done(
    owner.call('POST', tables, {
      name: 'wishes',
      description: 'What people would like to have in a room',
      columns: ['author:uuid', 'body:text'],
      owner_column: 'author',
    }),
  );
  await insertLines(owner, `/data/${tenant.slug}/${app.slug}/bookings`, Array.from({ length: 60 }, booking));
  await done(
    owner.call('POST', `${tables}/bookings/indexes`, { columns: ['room', 'starts_at'], unique: true }),
  );
  const grants = `${tables}/bookings/grants`;
  await done(
    owner.call('POST', grants, { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] }),
  );
  await done(
    owner.call('POST', grants, {
      principal_type: 'user',
      principal_id: member.id,
      actions: ['read', 'write'],
    }),
  );
}

const rooms = ['Alcove', 'Boiler room', 'Crow’s nest', 'Deck', 'Engine room'];

function booking(_: unknown, at: number): object {
  return {
    room: rooms[at % rooms.length],
    seats: 4 + (at % 9),
    guests: at % 7 === 0 ? null : at % 5,
    price: at % 3 === 0 ? null : at * 1.5,
    badge: at % 4 === 0 ? '9223372036854775807' : at,
    confirmed: at % 2 === 0,
    starts_at: new Date(Date.UTC(2026, 0, 1 + at, 9, 30)).toISOString(),
    made_by: at % 6 === 0 ? null : Bun.randomUUIDv7(),
    extras: at % 5 === 0 ? { coffee: true, projector: null } : null,
    note:
      at % 4 === 1
        ? 'The window is stuck; bring a jumper if you mean to stay for long.'
        : at % 4 === 2
          ? ''
          : null,
  };
}
