-- When the tenant last had one admin less: who has just become the only one decides nothing that they asked for. Set by
-- the database, since it counts whoever it was done by, and on whichever way.

alter table svc.tenants add column admin_left_at timestamptz;

create function svc.note_admin_left() returns trigger language plpgsql as $$
begin
  update svc.tenants set admin_left_at = now() where id = old.tenant_id;
  return null;
end
$$;

create trigger memberships_admin_removed after delete on svc.memberships
  for each row when (old.role = 'tenant_admin')
  execute function svc.note_admin_left();

create trigger memberships_admin_lowered after update on svc.memberships
  for each row when (old.role = 'tenant_admin' and new.role <> 'tenant_admin')
  execute function svc.note_admin_left();
