-- Consent of an app's owner to inspections by the tenant's admins, and the ledger of what was read under which.

-- Each time it is granted is a consent of its own. At most one of an app stands.
create table svc.inspection_consents (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  app_id     uuid not null references svc.apps on delete cascade,
  granted_by uuid not null,
  granted_at timestamptz not null,
  revoked_by uuid,
  revoked_at timestamptz,
  check ((revoked_by is null) = (revoked_at is null))
);
create unique index inspection_consents_standing on svc.inspection_consents (app_id) where revoked_at is null;
create index inspection_consents_app on svc.inspection_consents (app_id, id);

-- Its entries go with their app alone, so nothing here refers to the tenant.
create table svc.inspection_ledger (
  id           uuid primary key,
  tenant_id    uuid not null,
  app_id       uuid not null references svc.apps on delete cascade,
  consent_id   uuid not null references svc.inspection_consents on delete cascade,
  reader_id    uuid not null,
  -- As it was then.
  reader_email text not null,
  what         text not null check (what in ('tables')),
  reason       text not null,
  at           timestamptz not null
);
create index inspection_ledger_app on svc.inspection_ledger (app_id, id);
create index inspection_ledger_consent on svc.inspection_ledger (consent_id);

create function svc.refuse_ledger_edit() returns trigger language plpgsql as $$
begin
  -- A purge removes the app first, and what refers to it after.
  if tg_op = 'DELETE' and tg_level = 'ROW' then
    if not exists (select from svc.apps where id = old.app_id) then return old; end if;
  end if;
  raise exception 'the ledger of inspections is append-only';
end $$;
create trigger inspection_ledger_append_only before update or delete on svc.inspection_ledger
  for each row execute function svc.refuse_ledger_edit();
create trigger inspection_ledger_kept before truncate on svc.inspection_ledger
  for each statement execute function svc.refuse_ledger_edit();
