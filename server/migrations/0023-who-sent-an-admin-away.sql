-- Who sent another admin away decides for a while nothing that they asked for. Only the verbs of a tenant's own admins
-- note it: what the operator does, and who leaves by themself, makes nobody wait.

drop trigger memberships_admin_removed on svc.memberships;
drop trigger memberships_admin_lowered on svc.memberships;
drop function svc.note_admin_left();

alter table svc.tenants add column admin_left_by uuid;
-- Of those noted so far nobody knows who it was.
update svc.tenants set admin_left_at = null where admin_left_at is not null;
alter table svc.tenants add constraint tenants_admin_left_whole
  check ((admin_left_at is null) = (admin_left_by is null));
