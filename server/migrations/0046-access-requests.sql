-- Whether members may learn that an `invite_only` app exists, and ask its owners for access.
alter table svc.tenants add column access_requests boolean not null default false;

create table svc.access_requests (
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  app_id       uuid not null references svc.apps on delete cascade,
  user_id      uuid not null references svc.users on delete cascade,
  status       text not null check (status in ('pending', 'accepted', 'refused')),
  note         text not null,
  requested_at timestamptz not null,
  decided_by   uuid references svc.users on delete set null,
  decided_at   timestamptz
);
create unique index access_requests_open on svc.access_requests (app_id, user_id) where status = 'pending';
create index access_requests_of_app on svc.access_requests (app_id, requested_at desc, id desc);
create index access_requests_of_user on svc.access_requests (user_id, app_id, requested_at desc);

-- Of an instance whose deployment is in review: it reads the rows and objects of its app and changes nothing.
alter table svc.app_tokens add column is_read_only boolean not null default false;
