-- Objects of apps. The bytes are in the object store; what is there, and under which name, is said here alone.

create table svc.app_storage (
  app_id     uuid primary key references svc.apps on delete cascade,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  enabled_by uuid not null,
  enabled_at timestamptz not null,
  -- Kept under this row's lock by whoever adds or removes an object.
  objects    bigint not null default 0 check (objects >= 0),
  bytes      bigint not null default 0 check (bytes >= 0)
);

-- No reference either: of a purged app there may be a million, which go bit by bit afterwards.
create table svc.storage_objects (
  app_id       uuid not null,
  -- By bytes, whatever the database's language is: prefixes are ranges.
  key          text collate "C" not null check (octet_length(key) between 1 and 1024),
  tenant_id    uuid not null,
  -- Copies share their bytes.
  blob_id      uuid not null,
  size         bigint not null check (size >= 0),
  content_type text not null,
  sha256       text not null,
  created_by   uuid not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (app_id, key)
);
create index storage_objects_blob on svc.storage_objects (blob_id);

-- Uploads that have begun and not ended. No reference: what a purged app's uploads left in the store is still found.
create table svc.storage_uploads (
  blob_id    uuid primary key,
  app_id     uuid not null,
  tenant_id  uuid not null,
  started_at timestamptz not null
);
create index storage_uploads_started on svc.storage_uploads (started_at);
