-- Icons that were uploaded here. The bytes are in the object store, under `icons/<id>/<object_id>`.

create table svc.icons (
  -- Made when the upload was allowed; the icon's address holds it, and what is behind it never changes.
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  -- Null for one that was uploaded before its app was there.
  app_id       uuid references svc.apps on delete set null,
  variant      text not null check (variant in ('light', 'dark')),
  content_type text not null check (content_type in ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
  size         int not null check (size between 1 and 2097152),
  sha256       text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  width        int not null check (width > 0),
  height       int not null check (height > 0),
  -- Of the upload that was taken; others to the same address have others.
  object_id    uuid not null default gen_random_uuid(),
  created_by   uuid not null,
  created_at   timestamptz not null
);
create index icons_tenant on svc.icons (tenant_id, created_at);
create index icons_person on svc.icons (tenant_id, created_by, created_at);
create index icons_app on svc.icons (app_id);
