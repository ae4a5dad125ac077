-- Also the same for all servers of a database.
alter table svc.servers add column base_url text not null default '', add column apps_domain text not null default '';
