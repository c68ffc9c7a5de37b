import { artifactStatements, bytesIn } from './artifact-statements.ts';

/** All statements that read, and the writes that need no function. In a statement about one session, `$1` is its digest (`nameIn`). */
export function statementsIn(schema: string) {
  const ofSession = (table: string) =>
    `${schema}.${table} t where t.session = (select n from ${schema}.sessions where name = $1)`;
  const members = (scope: string) =>
    `(select string_agg(to_json(key)::text || ':' || value, ',') from ${schema}.state where scope = ${scope})`;
  const listed = `id, title, created_at, updated_at,
        exists (
          select from ${schema}.calls c where c.session = s.n and c.status = 'requested' and c.status <> 'settled'
          and (c.expires_at is null or c.expires_at > ${schema}.clock_ms($2))
        )::integer as is_waiting,
        (select has_failed from ${schema}.messages m where m.session = s.n order by seq desc limit 1)::integer as has_failed`;
  const anywhere = `select c.*, s.user_id as session_user, s.id as session_id
      from ${schema}.calls c join ${schema}.sessions s on s.n = c.session`;
  return {
    find: `select id, title, created_at, updated_at from ${schema}.sessions where name = $1`,
    load: `with newest as (
          select seq, row_number() over newest as number, sum(size) over newest as size from (
            select seq, octet_length(data) as size from ${schema}.events
            where session = (select n from ${schema}.sessions where name = $1)
            order by seq desc limit $4::bigint + 1
          ) e window newest as (order by seq desc)
        ),
        fitting as (
          select seq from newest where number = 1 or (number <= coalesce($4, number) and size <= coalesce($5, size))
        )
      select id, title, created_at, updated_at,
        (
          select string_agg(data, ',' order by seq) from ${schema}.events
          where session = s.n and seq >= (select min(seq) from fitting)
        ) as events,
        (select count(*) from newest) > (select count(*) from fitting) as has_older,
        ${members('$1')} as session, ${members('$2')} as user, ${members('$3')} as app
      from ${schema}.sessions s where name = $1`,
    events: `with session as (select n from ${schema}.sessions where name = $1),
        next as (
          select seq, row_number() over place as number, sum(size) over place as size from (
            select seq, octet_length(data) as size from ${schema}.events
            where session = (select n from session) order by seq limit $3 offset $2
          ) e window place as (order by seq)
        )
      select (select count(*) from ${schema}.events where session = n)::integer as count,
        (
          select string_agg(data, ',' order by seq) from ${schema}.events
          where session = n and seq in (select seq from next where number = 1 or size <= $4)
        ) as events
      from session`,
    shared: `select ${members('$2')} as user, ${members('$3')} as app
      from ${schema}.sessions where name = $1 and fence = $4`,
    list: `select ${listed}
      from ${schema}.sessions s where owner = $1
        and updated_at <= $3 and (updated_at < $3 or id collate "C" > $4)
        and ($5::bigint is null or title is not null or exists (select from ${schema}.messages m where m.session = s.n))
      order by updated_at desc, id collate "C" limit $5::bigint`,
    listAll: `select s.n, user_id as user, ${listed}
      from ${schema}.sessions s where hashtextextended(app, 0) = hashtextextended($1, 0) and app = $1
        and updated_at <= $3 and (updated_at < $3 or s.n > $4)
        and (title is not null or exists (select from ${schema}.messages m where m.session = s.n))
      order by updated_at desc, s.n limit $5::bigint`,
    bytes: `select (
        coalesce((select sum(octet_length(data)) from ${schema}.events where session = s.n), 0)
        + coalesce((select sum(octet_length(data)) from ${schema}.messages where session = s.n), 0)
        + coalesce((select sum(octet_length(bytes)) from ${schema}.files where session = s.n), 0)
        + coalesce((select sum(${bytesIn('a')}) from ${schema}.artifacts a where a.session = s.n), 0)
      )::float8 as size
      from ${schema}.sessions s where name = $1`,
    message: `select data from ${ofSession('messages')} and id = $2`,
    rename: `update ${schema}.sessions set title = $2 where name = $1 returning n`,
    messages: `select string_agg(data, ',' order by seq) as messages from ${ofSession('messages')}`,
    page: `with session as (select n from ${schema}.sessions where name = $1),
        place as (
          select case when $2::text is null then 2147483647
            else (select seq from ${schema}.messages where session = (select n from session) and id = $2) end as seq
        ),
        last as (
          select seq, row_number() over newest as number, sum(size) over newest as size from (
            select seq, octet_length(data) as size from ${schema}.messages
            where session = (select n from session) and seq < (select seq from place)
            order by seq desc limit $3 + 1
          ) m window newest as (order by seq desc)
        ),
        fitting as (select seq from last where number = 1 or (number <= $3 and size <= $4))
      select (select seq from place) is not null as found,
        (select count(*) from last) > (select count(*) from fitting) as has_older,
        (
          select string_agg(data, ',' order by seq) from ${schema}.messages
          where session = (select n from session) and seq in (select seq from fitting)
        ) as messages`,
    waiting: `select string_agg(data, ',' order by seq) as waiting from ${ofSession('waiting')}`,
    openCalls: `select * from ${ofSession('calls')} and status <> 'settled' order by t.n`,
    callById: `select * from ${ofSession('calls')} and id = $2`,
    callByApproval: `select * from ${ofSession('calls')} and approval_id = $2`,
    callsById: `${anywhere} where hashtextextended(c.id, 0) = hashtextextended($2, 0) and c.id = $2 and s.app = $1 limit 2`,
    callsByApproval: `${anywhere} where c.approval_id = $2 and s.app = $1 limit 2`,
    auditPage: `with last as (
          select n, row_number() over newest as number, sum(size) over newest as size from (
            select n, coalesce(octet_length(args), 0) + coalesce(octet_length(reason), 0) as size from ${schema}.audit_lines
            where name = $1 and n < $2 order by n desc limit $3 + 1
          ) m window newest as (order by n desc)
        ),
        fitting as (select n from last where number = 1 or (number <= $3 and size <= $4))
      select n, (select count(*) from last) > (select count(*) from fitting) as has_older,
        at, kind, session_id, user_id as user, approval_id, tool_call_id, tool_name, args_hash, args, reason, decided_by
      from ${schema}.audit_lines where n in (select n from fitting) order by n`,
    requests: `select request_id, message_id, parts from ${ofSession('requests')} order by seq`,
    living: `select name, address, now
      from (select (extract(epoch from clock_timestamp()) * 1000)::float8 as now) clock
      left join ${schema}.nodes on until > clock_timestamp()`,
    fences: `select fence from ${schema}.sessions where name = any ($1)`,
    putCommand: `with old as (delete from ${schema}.commands where at < clock_timestamp() - interval '1 minute')
      insert into ${schema}.commands (id, data) values ($1, $2) on conflict (id) do nothing`,
    findCommand: `select data from ${schema}.commands where id = $1 and at >= clock_timestamp() - interval '1 minute'`,
    removeCommand: `delete from ${schema}.commands where id = $1`,
    ...artifactStatements(schema),
    file: `select media_type, bytes from ${ofSession('files')} and id = $2`,
  };
}
