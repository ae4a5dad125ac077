-- What people were told. They go with their reader, their tenant and their app, and after 90 days.

create table svc.notifications (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  user_id    uuid not null references svc.users on delete cascade,
  -- Null: of no app.
  app_id     uuid references svc.apps on delete cascade,
  kind       text not null,
  title      text not null,
  text       text not null,
  path       text not null,
  created_at timestamptz not null,
  read_at    timestamptz
);
create index notifications_of_reader on svc.notifications (tenant_id, user_id, created_at desc, id desc);
create index notifications_unread on svc.notifications (tenant_id, user_id) where read_at is null;
create index notifications_app on svc.notifications (app_id) where app_id is not null;
create index notifications_age on svc.notifications (created_at);
