-- The whole record of an app, the categories it may stand in, and what makes it findable.

-- Both are trusted: the owner of the database may make them. They stand in our schema, or in `public` where they were.
set local search_path = svc, public;
create extension if not exists pg_trgm with schema svc;
create extension if not exists btree_gin with schema svc;

create table svc.categories (
  id            uuid primary key,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  slug          text not null check (slug ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  name          text not null,
  description   text not null default '',
  color         text not null default '',
  icon_url      text not null default '',
  display_order int not null default 0,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  -- From then on it is there for nobody; the row goes when its last app was taken out of it.
  deleted_at    timestamptz,
  -- So that an app can refer to one of its own tenant only.
  unique (tenant_id, id)
);
create unique index categories_slug on svc.categories (tenant_id, slug) where deleted_at is null;

alter table svc.apps
  add column summary         text not null default '',
  add column description     text not null default '',
  add column category_id     uuid,
  add column subdomain       text check (subdomain ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  add column auth_mode       text not null default 'cookie'
    check (auth_mode in ('cookie', 'bearer', 'api_key', 'anonymous')),
  add column data_scopes     text[] not null default '{}',
  add column deploy_method   text not null default 'docker' check (deploy_method in ('docker', 'compose', 'static')),
  add column resource_preset text not null default 'S' check (resource_preset in ('XS', 'S', 'M', 'L', 'XL')),
  add column cost_center     text,
  add column icon_url        text,
  add column icon_dark_url   text,
  add column runtime         text not null default 'none' check (runtime in ('none', 'running', 'suspended')),
  -- Whether a deployment or a release of it is live, or was when it was suspended or archived.
  add column is_deployed     boolean not null default false,
  add column review_status   text not null default 'none',
  add column owner_since     timestamptz,
  add column archived_at     timestamptz,
  add column deleted_at      timestamptz,
  add column purge_after     timestamptz,
  add foreign key (tenant_id, category_id) references svc.categories (tenant_id, id) on delete set null (category_id),
  add column deployment_status text not null generated always as (
    case when record = 'archived' then 'archived' when is_deployed then 'deployed' else 'draft' end) stored,
  add column operating_status text not null generated always as (
    case when record = 'archived' then 'archived' when is_deployed and visibility <> 'private' then 'live' else 'dev' end) stored,
  -- What typing errors are forgiven in.
  add column search_text text not null generated always as (
    lower(name || ' ' || slug || ' ' || summary)) stored,
  -- What is looked into first, so that a common word in descriptions never hides an app of that name.
  add column search_names tsvector not null generated always as (
    to_tsvector('simple', name || ' ' || replace(slug, '-', ' '))) stored,
  -- What whole words and their beginnings are found in. No language: names are of any.
  add column search_words tsvector not null generated always as (
    setweight(to_tsvector('simple', name || ' ' || replace(slug, '-', ' ')), 'A') ||
    setweight(to_tsvector('simple', summary), 'B') ||
    setweight(to_tsvector('simple', description), 'C')) stored;
update svc.apps set owner_since = created_at;
alter table svc.apps alter column owner_since set not null;
-- Purged apps are gone; what is left of them are names.
alter table svc.apps drop constraint apps_record_check, add check (record in ('active', 'archived', 'deleted'));

-- Hosts are not divided by tenants: the first app of a slug had the one of that name, and keeps it, unless people would
-- take it for the platform's or for another's staging.
update svc.apps set subdomain = slug
  where id in (select distinct on (slug) id from svc.apps order by slug, created_at, id)
    and slug !~ '--' and slug !~ '^(accounts?|admin|api|apps?|assets|auth|autoconfig|autodiscover|cdn|console|dashboard|data'
      '|dns|docs|ftp|git|help|imap|internal|localhost|login|logout|mail|mx|ns[12]?|oauth|pop|postmaster|root|security|smtp'
      '|sso|static|status|storage|support|svc|sync|system|webmail|wpad|www)$';
create unique index apps_subdomain on svc.apps (subdomain);

create index apps_names on svc.apps using gin (tenant_id, search_names);
create index apps_words on svc.apps using gin (tenant_id, search_words);
create index apps_trigrams on svc.apps using gin (tenant_id, search_text gin_trgm_ops);
create index apps_created on svc.apps (tenant_id, created_at, id);
create index apps_updated on svc.apps (tenant_id, updated_at, id);
create index apps_name on svc.apps (tenant_id, lower(name), id);
-- Holds all that counting the apps somebody sees has to look at.
create index apps_seen on svc.apps (tenant_id, record, visibility, id) 
  include (owner_id, deployment_status, operating_status, review_status);
create index apps_category on svc.apps (tenant_id, category_id);
create index apps_purge on svc.apps (purge_after) where record = 'deleted';

-- Names that were given up. For a time only the tenant that had them can have them again: old links lead to nobody else.
create table svc.reserved_names (
  kind      text not null check (kind in ('subdomain', 'host')),
  name      text not null,
  tenant_id uuid not null references svc.tenants on delete cascade,
  until     timestamptz not null,
  primary key (kind, name)
);

-- Those who see an app that is there for invited people.
create table svc.app_members (
  app_id     uuid not null references svc.apps on delete cascade,
  user_id    uuid not null references svc.users on delete cascade,
  added_by   uuid not null,
  created_at timestamptz not null,
  primary key (app_id, user_id)
);
create index app_members_user on svc.app_members (user_id);

-- What an app can be begun from, beside the templates that come with the platform.
create table svc.templates (
  id            uuid primary key,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  alias         text,
  name          text not null,
  description   text not null,
  framework     text not null,
  deploy_method text not null check (deploy_method in ('docker', 'compose', 'static')),
  repository    text,
  created_at    timestamptz not null default now(),
  unique (tenant_id, alias)
);
