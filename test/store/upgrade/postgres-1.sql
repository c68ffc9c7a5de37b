--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: duologue_old; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA duologue_old;


--
-- Name: accept(bigint, text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.accept(p_session bigint, p_request text, p_message text, p_parts integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare last integer;
begin
  if p_request is null then return; end if;
  select coalesce(max(seq), 0) into last from "duologue_old".requests where session = p_session;
  delete from "duologue_old".requests
    where session = p_session and (request_id = p_request or seq <= last + 1 - 256);
  insert into "duologue_old".requests (session, seq, request_id, message_id, parts)
    values (p_session, last + 1, p_request, p_message, p_parts);
end $$;


--
-- Name: accept_request(text, bigint, text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.accept_request(p_name text, p_fence bigint, p_request text, p_message text, p_parts integer) RETURNS void
    LANGUAGE sql
    AS $$
  select "duologue_old".accept("duologue_old".need(p_name, p_fence), p_request, p_message, p_parts)
$$;


--
-- Name: acquire(text, text, bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.acquire(p_name text, p_node text, p_suspect bigint) RETURNS TABLE(fence bigint, node text, address text)
    LANGUAGE plpgsql
    AS $$
declare s record; o record; f bigint;
begin
  select sessions.n, sessions.fence, sessions.node into s
    from "duologue_old".sessions where sessions.name = p_name for no key update;
  if not found then return; end if;
  if s.node is distinct from p_node and s.fence is distinct from p_suspect then
    select nodes.name, nodes.address into o
      from "duologue_old".nodes where nodes.name = s.node and until > clock_timestamp();
    if found then return query select s.fence, o.name, o.address; return; end if;
  end if;
  f := nextval('"duologue_old".fences');
  update "duologue_old".sessions set fence = f, node = p_node where sessions.n = s.n;
  return query select f, p_node, null::text;
end $$;


--
-- Name: add_line(text, bigint, json, uuid); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.add_line(p_name text, p_at bigint, p_line json, p_operation uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  insert into "duologue_old".audit_lines
    (name, session_id, user_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args, reason, operation)
    select p_name, l.session_id, l.user_id, "duologue_old".clock_ms(p_at), l.kind, l.approval_id, l.tool_call_id, l.tool_name, l.args_hash,
      case when exists (select from "duologue_old".sessions where name = p_name) then l.args end, l.reason, p_operation
    from json_populate_record(null::"duologue_old".audit_lines, p_line) l
    on conflict (operation) do nothing;
end $$;


--
-- Name: add_waiting(text, bigint, bigint, text, text, text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.add_waiting(p_name text, p_fence bigint, p_at bigint, p_id text, p_data text, p_request text, p_message text, p_parts integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".touch(p_name, p_fence, p_at);
begin
  insert into "duologue_old".waiting (session, seq, id, data)
    values (s, (select coalesce(max(seq), 0) + 1 from "duologue_old".waiting where session = s), p_id, p_data)
    on conflict (session, id) do update set data = excluded.data;
  perform "duologue_old".accept(s, p_request, p_message, p_parts);
end $$;


--
-- Name: append_event(text, bigint, bigint, uuid, text, text, text[], text[], text[], text[], text[], text[], text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.append_event(p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text, p_data text, p_answered text[], p_shared text[], p_scopes text[], p_keys text[], p_values text[], p_seen text[], p_request text, p_message text, p_parts integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".touch(p_name, p_fence, p_at);
begin
  if exists (select from "duologue_old".events where session = s and id = p_id and operation = p_operation) then return; end if;
  perform "duologue_old".change_state(p_shared, p_scopes, p_keys, p_values, p_seen);
  insert into "duologue_old".events (session, seq, id, data, operation)
    values (s, (select coalesce(max(seq), 0) + 1 from "duologue_old".events where session = s), p_id, p_data, p_operation)
    on conflict (session, id) do update set data = excluded.data, operation = excluded.operation;
  if cardinality(p_answered) > 0 then
    update "duologue_old".calls set status = 'settled', operation = null where session = s and id = any (p_answered);
  end if;
  perform "duologue_old".accept(s, p_request, p_message, p_parts);
end $$;


--
-- Name: change_state(text[], text[], text[], text[], text[]); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.change_state(p_shared text[], p_scopes text[], p_keys text[], p_values text[], p_seen text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare changed text;
begin
  if cardinality(p_keys) = 0 then return; end if;
  for i in 1 .. cardinality(p_shared) loop
    perform pg_advisory_xact_lock(hashtextextended(p_shared[i], 0));
  end loop;
  if p_seen is not null then
    select string_agg(d.key, ', ') into changed
      from unnest(p_scopes, p_keys, p_seen) as d (scope, key, seen)
      left join "duologue_old".state s on s.scope = d.scope and s.key = d.key
      where s.value is distinct from d.seen;
    if changed is not null then raise exception '%', changed using errcode = 'DL004'; end if;
  end if;
  delete from "duologue_old".state s using unnest(p_scopes, p_keys, p_values) as d (scope, key, value)
    where d.value is null and s.scope = d.scope and s.key = d.key;
  insert into "duologue_old".state (scope, key, value)
    select * from unnest(p_scopes, p_keys, p_values) as d (scope, key, value) where d.value is not null
    on conflict (scope, key) do update set value = excluded.value;
end $$;


--
-- Name: clock_ms(bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.clock_ms(p_at bigint) RETURNS bigint
    LANGUAGE sql
    AS $$
  select coalesce(p_at, (extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;


--
-- Name: create_session(text, text, text, text, text, bigint, uuid, text[], text[], text[], text[]); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.create_session(p_name text, p_owner text, p_app text, p_user text, p_id text, p_at bigint, p_operation uuid, p_shared text[], p_scopes text[], p_keys text[], p_values text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare at bigint := "duologue_old".clock_ms(p_at);
begin
  insert into "duologue_old".sessions (name, owner, app, user_id, id, created_at, updated_at, operation)
    values (p_name, p_owner, p_app, p_user, p_id, at, at, p_operation) on conflict (name) do nothing;
  if not found then
    if exists (select from "duologue_old".sessions where name = p_name and operation = p_operation) then return; end if;
    raise exception 'the session exists' using errcode = 'DL003';
  end if;
  perform "duologue_old".change_state(p_shared, p_scopes, p_keys, p_values, null);
end $$;


--
-- Name: delete_session(text); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.delete_session(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare s bigint;
begin
  delete from "duologue_old".sessions where name = p_name returning n into s;
  if not found then return false; end if;
  delete from "duologue_old".state where scope = p_name;
  delete from "duologue_old".events where session = s;
  delete from "duologue_old".messages where session = s;
  delete from "duologue_old".waiting where session = s;
  delete from "duologue_old".calls where session = s;
  delete from "duologue_old".requests where session = s;
  delete from "duologue_old".files where session = s;
  update "duologue_old".audit_lines set args = null, reason = null where name = p_name;
  return true;
end $$;


--
-- Name: find(text, bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.find(p_name text, p_fence bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare s record;
begin
  select n, fence into s from "duologue_old".sessions where name = p_name for no key update;
  if not found then return null; end if;
  if s.fence <> p_fence then raise exception 'stale fence' using errcode = 'DL001'; end if;
  return s.n;
end $$;


--
-- Name: issue_calls(text, bigint, bigint, uuid, json, json); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.issue_calls(p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_calls json, p_lines json) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".need(p_name, p_fence); c "duologue_old".calls; l json;
begin
  for c in select * from json_populate_recordset(null::"duologue_old".calls, p_calls) loop
    if exists (select from "duologue_old".calls where session = s and id = c.id and operation = p_operation) then return; end if;
    insert into "duologue_old".calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
        agent, invocation_id, branch, issued_at, expires_at)
      values (s, c.id, c.approval_id, c.tool_name, c.args, c.args_hash, c.runs_on, c.status, c.reason, c.message_id,
        c.agent, c.invocation_id, c.branch, c.issued_at, c.expires_at);
  end loop;
  -- Only now: a second one of this id is found above by its operation otherwise, and taken for the first that was sent again.
  update "duologue_old".calls set operation = p_operation where session = s and id in (select e ->> 'id' from json_array_elements(p_calls) e);
  for l in select * from json_array_elements(p_lines) loop
    perform "duologue_old".add_line(p_name, p_at, l, null);
  end loop;
end $$;


--
-- Name: leave_node(text); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.leave_node(p_node text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update "duologue_old".sessions set node = null where sessions.node = p_node;
  delete from "duologue_old".nodes where nodes.name = p_node;
end $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: calls; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.calls (
    n bigint NOT NULL,
    session bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    approval_id text COLLATE pg_catalog."C",
    tool_name text NOT NULL,
    args text NOT NULL,
    args_hash text NOT NULL,
    runs_on text NOT NULL,
    status text NOT NULL,
    reason text,
    message_id text NOT NULL,
    agent text NOT NULL,
    invocation_id text NOT NULL,
    branch text,
    issued_at bigint NOT NULL,
    expires_at bigint,
    operation uuid
);


--
-- Name: move_call(text, bigint, bigint, uuid, text, text, text, boolean, text, boolean, bigint, json, text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.move_call(p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text, p_from text, p_to text, p_sets_reason boolean, p_reason text, p_sets_expiry boolean, p_expires_at bigint, p_line json, p_request text, p_message text, p_parts integer) RETURNS SETOF duologue_old.calls
    LANGUAGE plpgsql
    AS $$
declare s bigint; c "duologue_old".calls;
begin
  -- Who decides need not be the owner.
  if p_fence is null then select n into s from "duologue_old".sessions where name = p_name for no key update;
  else s := "duologue_old".find(p_name, p_fence);
  end if;
  select * into c from "duologue_old".calls where session = s and id = p_id;
  if not found then return; end if;
  if c.operation = p_operation then return next c; return; end if;
  if c.status <> p_from then return; end if;
  update "duologue_old".calls set status = p_to, operation = p_operation,
      reason = case when p_sets_reason then p_reason else reason end,
      expires_at = case when p_sets_expiry then p_expires_at else expires_at end
    where n = c.n returning * into c;
  if p_line is not null then perform "duologue_old".add_line(p_name, p_at, p_line, null); end if;
  perform "duologue_old".accept(s, p_request, p_message, p_parts);
  return next c;
end $$;


--
-- Name: need(text, bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.need(p_name text, p_fence bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".find(p_name, p_fence);
begin
  if s is null then raise exception 'no such session' using errcode = 'DL002'; end if;
  return s;
end $$;


--
-- Name: own(text); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.own(p_name text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare s bigint; f bigint;
begin
  -- The fence is drawn by whoever has the row: drawn before, an earlier one could be written over a later one.
  select n into s from "duologue_old".sessions where name = p_name for no key update;
  if not found then return null; end if;
  f := nextval('"duologue_old".fences');
  update "duologue_old".sessions set fence = f, node = null where n = s;
  return f;
end $$;


--
-- Name: put_file(text, bigint, text, text, bytea); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.put_file(p_name text, p_fence bigint, p_id text, p_media_type text, p_bytes bytea) RETURNS void
    LANGUAGE sql
    AS $$
  insert into "duologue_old".files (session, id, media_type, bytes)
    values ("duologue_old".need(p_name, p_fence), p_id, p_media_type, p_bytes)
    on conflict (session, id) do update set media_type = excluded.media_type, bytes = excluded.bytes
$$;


--
-- Name: put_message(text, bigint, bigint, text, text, boolean, boolean, text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.put_message(p_name text, p_fence bigint, p_at bigint, p_id text, p_data text, p_has_failed boolean, p_is_answer boolean, p_request text, p_message text, p_parts integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".touch(p_name, p_fence, p_at); place integer;
begin
  insert into "duologue_old".messages (session, seq, id, data, has_failed)
    values (s, (select coalesce(max(seq), 0) + 1 from "duologue_old".messages where session = s), p_id, p_data, p_has_failed)
    on conflict (session, id) do update set data = excluded.data, has_failed = excluded.has_failed
    returning seq into place;
  if p_is_answer then
    delete from "duologue_old".waiting w where w.session = s and exists (
      select from "duologue_old".messages m where m.session = s and m.id = w.id and m.seq < place
    );
  end if;
  perform "duologue_old".accept(s, p_request, p_message, p_parts);
end $$;


--
-- Name: release(text, bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.release(p_name text, p_fence bigint) RETURNS void
    LANGUAGE sql
    AS $$
  update "duologue_old".sessions set node = null where name = p_name and fence = p_fence
$$;


--
-- Name: renew_node(text, text, integer); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.renew_node(p_node text, p_address text, p_lease integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare was_living boolean := exists (select from "duologue_old".nodes where name = p_node and until > clock_timestamp());
begin
  -- Nodes that died long ago are forgotten with the first that comes.
  if not was_living then delete from "duologue_old".nodes where until < clock_timestamp() - interval '1 hour'; end if;
  insert into "duologue_old".nodes (name, address, until)
    values (p_node, p_address, clock_timestamp() + p_lease * interval '1 millisecond')
    on conflict (name) do update set until = excluded.until, address = excluded.address;
  return was_living;
end $$;


--
-- Name: touch(text, bigint, bigint); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.touch(p_name text, p_fence bigint, p_at bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare s bigint;
begin
  update "duologue_old".sessions set updated_at = "duologue_old".clock_ms(p_at) where name = p_name and fence = p_fence returning n into s;
  if found then return s; end if;
  return "duologue_old".need(p_name, p_fence);
end $$;


--
-- Name: truncate_messages(text, bigint, bigint, uuid, text); Type: FUNCTION; Schema: duologue_old; Owner: -
--

CREATE FUNCTION duologue_old.truncate_messages(p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare s bigint := "duologue_old".find(p_name, p_fence); place integer;
begin
  if exists (select from "duologue_old".sessions where n = s and last_operation = p_operation) then return true; end if;
  select seq into place from "duologue_old".messages where session = s and id = p_id;
  if not found then return false; end if;
  delete from "duologue_old".messages where session = s and seq >= place;
  update "duologue_old".sessions set updated_at = "duologue_old".clock_ms(p_at), last_operation = p_operation where n = s;
  return true;
end $$;


--
-- Name: audit_lines; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.audit_lines (
    n bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL,
    user_id text NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    approval_id text,
    tool_call_id text,
    tool_name text,
    args_hash text,
    args text,
    reason text,
    operation uuid
);


--
-- Name: audit_lines_n_seq; Type: SEQUENCE; Schema: duologue_old; Owner: -
--

ALTER TABLE duologue_old.audit_lines ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME duologue_old.audit_lines_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: calls_n_seq; Type: SEQUENCE; Schema: duologue_old; Owner: -
--

ALTER TABLE duologue_old.calls ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME duologue_old.calls_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: events; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.events (
    session bigint NOT NULL,
    seq integer NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL,
    operation uuid NOT NULL
);


--
-- Name: fences; Type: SEQUENCE; Schema: duologue_old; Owner: -
--

CREATE SEQUENCE duologue_old.fences
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: files; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.files (
    session bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    media_type text NOT NULL,
    bytes bytea NOT NULL
);


--
-- Name: messages; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.messages (
    session bigint NOT NULL,
    seq integer NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL,
    has_failed boolean NOT NULL
);


--
-- Name: nodes; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.nodes (
    name text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL,
    until timestamp with time zone NOT NULL
);


--
-- Name: requests; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.requests (
    session bigint NOT NULL,
    seq integer NOT NULL,
    request_id text NOT NULL COLLATE pg_catalog."C",
    message_id text,
    parts integer NOT NULL
);


--
-- Name: sessions; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.sessions (
    n bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    app text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    title text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    node text COLLATE pg_catalog."C",
    operation uuid NOT NULL,
    last_operation uuid
);


--
-- Name: sessions_n_seq; Type: SEQUENCE; Schema: duologue_old; Owner: -
--

ALTER TABLE duologue_old.sessions ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME duologue_old.sessions_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: state; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.state (
    scope text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);


--
-- Name: version; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.version (
    number integer NOT NULL
);


--
-- Name: waiting; Type: TABLE; Schema: duologue_old; Owner: -
--

CREATE TABLE duologue_old.waiting (
    session bigint NOT NULL,
    seq integer NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Data for Name: audit_lines; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (1, 'a6a-uLgt7H8dAxzvq5bxNQEywCi6cUoiX_nkJRF9NiU', 'payment', 'live_user', 1794963100770, 'issued', 'approval_id-0009', 'call-1', 'pay', '7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf', '{"amount":5}', NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (2, 'a6a-uLgt7H8dAxzvq5bxNQEywCi6cUoiX_nkJRF9NiU', 'payment', 'live_user', 1794963100773, 'approved', 'approval_id-0009', 'call-1', 'pay', '7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf', '{"amount":5}', NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (3, 'a6a-uLgt7H8dAxzvq5bxNQEywCi6cUoiX_nkJRF9NiU', 'payment', 'live_user', 1794963100775, 'consumed', 'approval_id-0009', 'call-1', 'pay', '7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf', '{"amount":5}', NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (4, 'a6a-uLgt7H8dAxzvq5bxNQEywCi6cUoiX_nkJRF9NiU', 'payment', 'live_user', 1794963100783, 'issued', 'approval_id-0011', 'call-2', 'pay', 'fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b', '{"amount":7}', NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (5, 'wuVbr85zNelXitadXtK_gbkxTAN-A7z2yNIxfOiNqQQ', 'deleted', 'live_user', 1794963100788, 'issued', 'approval_id-0014', 'call-3', 'pay', 'c54eaae48154f87c16278446393527c25853bffb11d8bb7a3b6ac57e6130f46b', NULL, NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (6, 'wuVbr85zNelXitadXtK_gbkxTAN-A7z2yNIxfOiNqQQ', 'deleted', 'live_user', 1794963100790, 'approved', 'approval_id-0014', 'call-3', 'pay', 'c54eaae48154f87c16278446393527c25853bffb11d8bb7a3b6ac57e6130f46b', NULL, NULL, NULL);
INSERT INTO duologue_old.audit_lines OVERRIDING SYSTEM VALUE VALUES (7, 'wuVbr85zNelXitadXtK_gbkxTAN-A7z2yNIxfOiNqQQ', 'deleted', 'live_user', 1794963100791, 'consumed', 'approval_id-0014', 'call-3', 'pay', 'c54eaae48154f87c16278446393527c25853bffb11d8bb7a3b6ac57e6130f46b', NULL, NULL, NULL);


--
-- Data for Name: calls; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.calls OVERRIDING SYSTEM VALUE VALUES (1, 3, 'call-1', 'approval_id-0009', 'pay', '{"amount":5}', '7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf', 'server', 'settled', NULL, 'msg_id-0008', 'assistant', 'e-9af88363-2e9c-4e0e-ba10-b5869cbb4d47', NULL, 1794963100768, NULL, NULL);
INSERT INTO duologue_old.calls OVERRIDING SYSTEM VALUE VALUES (2, 3, 'call-2', 'approval_id-0011', 'pay', '{"amount":7}', 'fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b', 'server', 'requested', NULL, 'msg_id-0010', 'assistant', 'e-1c12a71e-48a9-4c14-b5b2-7d9a6de63943', NULL, 1794963100782, NULL, '045727fd-3428-4d37-b597-c571406dc3d2');


--
-- Data for Name: events; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.events VALUES (1, 1, 'PXfjpSMN', '{"invocationId":"e-233f1274-68e7-4a31-9cf4-3f0028b3b6b1","author":"user","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"content":{"role":"user","parts":[{"text":"Hello"}]},"customMetadata":{"messageId":"user-Hello"},"id":"PXfjpSMN","longRunningToolIds":[],"timestamp":1794963100749}', '42c6e40b-0fc1-4c75-834c-1c06e3632d3d');
INSERT INTO duologue_old.events VALUES (1, 2, 'nDjFrQeL', '{"invocationId":"e-233f1274-68e7-4a31-9cf4-3f0028b3b6b1","author":"assistant","id":"nDjFrQeL","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100751,"content":{"role":"model","parts":[{"text":"Hello Ann."}]},"partial":false}', '8da686ac-9bb2-4413-8f2b-e10f1f66f4b8');
INSERT INTO duologue_old.events VALUES (1, 3, 'VrJl44Om', '{"invocationId":"e-73484198-aa46-4e8d-aea4-d31a0e77e7fa","author":"user","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"content":{"role":"user","parts":[{"text":"What time is it?"}]},"customMetadata":{"messageId":"user-What time is it?"},"id":"VrJl44Om","longRunningToolIds":[],"timestamp":1794963100755}', '29e01d7d-bb3f-47e8-8fc6-bf026accb1f4');
INSERT INTO duologue_old.events VALUES (1, 4, '6FwpKmQz', '{"invocationId":"e-73484198-aa46-4e8d-aea4-d31a0e77e7fa","author":"assistant","id":"6FwpKmQz","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100756,"content":{"role":"model","parts":[{"text":"It is late."}]},"partial":false}', '19db662e-f946-4f1c-9a24-70fed1c81b0b');
INSERT INTO duologue_old.events VALUES (2, 1, 'RSU8W3Om', '{"invocationId":"e-81235e0e-d2b2-424a-a419-d7f2f49e4647","author":"user","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"content":{"role":"user","parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","displayName":"dot.png"}}]},"customMetadata":{"messageId":"user-picture"},"id":"RSU8W3Om","longRunningToolIds":[],"timestamp":1794963100761}', 'f922a7ed-3a98-4c11-a0b6-2f778c5aafd2');
INSERT INTO duologue_old.events VALUES (2, 2, 'e4vupq6e', '{"invocationId":"e-81235e0e-d2b2-424a-a419-d7f2f49e4647","author":"assistant","id":"e4vupq6e","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100761,"content":{"role":"model","parts":[{"text":"I see a picture."}]},"partial":false}', '05d738a6-cdee-47e8-bf34-510de2b5d0a2');
INSERT INTO duologue_old.events VALUES (3, 1, 'dfrGQlks', '{"invocationId":"e-9af88363-2e9c-4e0e-ba10-b5869cbb4d47","author":"user","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"content":{"role":"user","parts":[{"text":"Pay 5"}]},"customMetadata":{"messageId":"user-Pay 5"},"id":"dfrGQlks","longRunningToolIds":[],"timestamp":1794963100767}', '3d066626-8f71-4401-8a7e-21aca45d3f68');
INSERT INTO duologue_old.events VALUES (3, 2, 'wtj8pv9N', '{"invocationId":"e-9af88363-2e9c-4e0e-ba10-b5869cbb4d47","author":"assistant","id":"wtj8pv9N","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100767,"content":{"role":"model","parts":[{"functionCall":{"args":{"amount":5},"name":"pay","id":"call-1"}}]},"partial":false}', '873adabf-d049-452b-be0b-57d3af4a93b1');
INSERT INTO duologue_old.events VALUES (3, 3, 'TAVLUa7y', '{"invocationId":"e-9af88363-2e9c-4e0e-ba10-b5869cbb4d47","author":"assistant","content":{"role":"user","parts":[{"functionResponse":{"id":"call-1","name":"pay","response":{"paid":5}}}]},"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"customMetadata":{"settled":"output"},"id":"TAVLUa7y","longRunningToolIds":[],"timestamp":1794963100776}', 'b980ced6-e664-4bd9-9869-99866a40d8e1');
INSERT INTO duologue_old.events VALUES (3, 4, '89QvIDIh', '{"invocationId":"e-3defe3cb-b91e-4c43-8caf-0cadba5f994b","author":"assistant","id":"89QvIDIh","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100777,"content":{"role":"model","parts":[{"text":"Paid 5."}]},"partial":false}', '129822a6-db54-4f2c-becf-122cbb07498f');
INSERT INTO duologue_old.events VALUES (3, 5, 'FZ1BcK1Y', '{"invocationId":"e-1c12a71e-48a9-4c14-b5b2-7d9a6de63943","author":"user","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"content":{"role":"user","parts":[{"text":"Pay 7"}]},"customMetadata":{"messageId":"user-Pay 7"},"id":"FZ1BcK1Y","longRunningToolIds":[],"timestamp":1794963100780}', '099e6439-052b-455a-a3a9-ddeab7130eb5');
INSERT INTO duologue_old.events VALUES (3, 6, 'RNJitG4h', '{"invocationId":"e-1c12a71e-48a9-4c14-b5b2-7d9a6de63943","author":"assistant","id":"RNJitG4h","actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},"longRunningToolIds":[],"timestamp":1794963100781,"content":{"role":"model","parts":[{"functionCall":{"args":{"amount":7},"name":"pay","id":"call-2"}}]},"partial":false}', '7d372ca6-4b67-4f01-a627-b73f3e912f97');


--
-- Data for Name: files; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.files VALUES (2, 'id-0006', 'image/png', '\x89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da6364f8cf500f00038601805a347d6b0000000049454e44ae426082');


--
-- Data for Name: messages; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.messages VALUES (1, 1, 'user-Hello', '{"id":"user-Hello","role":"user","metadata":{"createdAt":1794963100748},"parts":[{"type":"text","text":"Hello"}]}', false);
INSERT INTO duologue_old.messages VALUES (1, 2, 'msg_id-0002', '{"id":"msg_id-0002","role":"assistant","parts":[{"type":"text","text":"Hello Ann.","state":"done"}],"metadata":{"createdAt":1794963100748,"usage":null}}', false);
INSERT INTO duologue_old.messages VALUES (1, 3, 'user-What time is it?', '{"id":"user-What time is it?","role":"user","metadata":{"createdAt":1794963100754},"parts":[{"type":"text","text":"What time is it?"}]}', false);
INSERT INTO duologue_old.messages VALUES (1, 4, 'msg_id-0003', '{"id":"msg_id-0003","role":"assistant","parts":[{"type":"text","text":"It is late.","state":"done"}],"metadata":{"createdAt":1794963100754,"usage":null}}', false);
INSERT INTO duologue_old.messages VALUES (2, 1, 'user-picture', '{"id":"user-picture","role":"user","metadata":{"createdAt":1794963100759},"parts":[{"type":"text","text":"What is this?"},{"type":"file","mediaType":"image/png","url":"/sessions/picture/files/id-0006","filename":"dot.png"}]}', false);
INSERT INTO duologue_old.messages VALUES (2, 2, 'msg_id-0005', '{"id":"msg_id-0005","role":"assistant","parts":[{"type":"text","text":"I see a picture.","state":"done"}],"metadata":{"createdAt":1794963100759,"usage":null}}', false);
INSERT INTO duologue_old.messages VALUES (3, 1, 'user-Pay 5', '{"id":"user-Pay 5","role":"user","metadata":{"createdAt":1794963100766},"parts":[{"type":"text","text":"Pay 5"}]}', false);
INSERT INTO duologue_old.messages VALUES (3, 2, 'msg_id-0008', '{"id":"msg_id-0008","role":"assistant","parts":[{"type":"tool-pay","toolCallId":"call-1","state":"output-available","toolMetadata":{"runsOn":"server","asks":true},"input":{"amount":5},"approval":{"id":"approval_id-0009","approved":true},"output":{"paid":5}},{"type":"text","text":"Paid 5.","state":"done"}],"metadata":{"createdAt":1794963100766,"usage":null}}', false);
INSERT INTO duologue_old.messages VALUES (3, 3, 'user-Pay 7', '{"id":"user-Pay 7","role":"user","metadata":{"createdAt":1794963100780},"parts":[{"type":"text","text":"Pay 7"}]}', false);
INSERT INTO duologue_old.messages VALUES (3, 4, 'msg_id-0010', '{"id":"msg_id-0010","role":"assistant","parts":[{"type":"tool-pay","toolCallId":"call-2","state":"approval-requested","toolMetadata":{"runsOn":"server","asks":true},"input":{"amount":7},"approval":{"id":"approval_id-0011"}}],"metadata":{"createdAt":1794963100780,"usage":null}}', false);


--
-- Data for Name: nodes; Type: TABLE DATA; Schema: duologue_old; Owner: -
--



--
-- Data for Name: requests; Type: TABLE DATA; Schema: duologue_old; Owner: -
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.sessions OVERRIDING SYSTEM VALUE VALUES (1, 'fHQCco8UZCc_Tm7jPRUyTR053yAflQTxqiwyZW2lMYQ', 'p0Y8jhkO6FICP7k6rlU9IFhekecGr_lhcof6Y26cl5E', 'duologue', 'live_user', 'text', 'Hello', 1794963100746, 1794963100757, 1, NULL, '704c8d0e-0eb7-462e-a4a0-9911063a8125', NULL);
INSERT INTO duologue_old.sessions OVERRIDING SYSTEM VALUE VALUES (2, 'naAYYNxTbTqCuycdnbtqYaYc6wVqJ3AJo2Oy3iOYGSc', 'p0Y8jhkO6FICP7k6rlU9IFhekecGr_lhcof6Y26cl5E', 'duologue', 'live_user', 'picture', 'What is this?', 1794963100758, 1794963100763, 2, NULL, '4c4b73da-1700-42f8-93f9-025d4970eb3e', NULL);
INSERT INTO duologue_old.sessions OVERRIDING SYSTEM VALUE VALUES (3, 'a6a-uLgt7H8dAxzvq5bxNQEywCi6cUoiX_nkJRF9NiU', 'p0Y8jhkO6FICP7k6rlU9IFhekecGr_lhcof6Y26cl5E', 'duologue', 'live_user', 'payment', 'Pay 5', 1794963100765, 1794963100784, 3, NULL, '55ebac8b-598c-4499-a6b1-29f0ef43f100', NULL);


--
-- Data for Name: state; Type: TABLE DATA; Schema: duologue_old; Owner: -
--



--
-- Data for Name: version; Type: TABLE DATA; Schema: duologue_old; Owner: -
--

INSERT INTO duologue_old.version VALUES (1);


--
-- Data for Name: waiting; Type: TABLE DATA; Schema: duologue_old; Owner: -
--



--
-- Name: audit_lines_n_seq; Type: SEQUENCE SET; Schema: duologue_old; Owner: -
--

SELECT pg_catalog.setval('duologue_old.audit_lines_n_seq', 7, true);


--
-- Name: calls_n_seq; Type: SEQUENCE SET; Schema: duologue_old; Owner: -
--

SELECT pg_catalog.setval('duologue_old.calls_n_seq', 3, true);


--
-- Name: fences; Type: SEQUENCE SET; Schema: duologue_old; Owner: -
--

SELECT pg_catalog.setval('duologue_old.fences', 4, true);


--
-- Name: sessions_n_seq; Type: SEQUENCE SET; Schema: duologue_old; Owner: -
--

SELECT pg_catalog.setval('duologue_old.sessions_n_seq', 4, true);


--
-- Name: audit_lines audit_lines_operation_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.audit_lines
    ADD CONSTRAINT audit_lines_operation_key UNIQUE (operation);


--
-- Name: audit_lines audit_lines_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.audit_lines
    ADD CONSTRAINT audit_lines_pkey PRIMARY KEY (n);


--
-- Name: calls calls_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (n);


--
-- Name: calls calls_session_approval_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.calls
    ADD CONSTRAINT calls_session_approval_id_key UNIQUE (session, approval_id);


--
-- Name: calls calls_session_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.calls
    ADD CONSTRAINT calls_session_id_key UNIQUE (session, id);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (session, seq);


--
-- Name: events events_session_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.events
    ADD CONSTRAINT events_session_id_key UNIQUE (session, id);


--
-- Name: files files_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (session, id);


--
-- Name: messages messages_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (session, seq);


--
-- Name: messages messages_session_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.messages
    ADD CONSTRAINT messages_session_id_key UNIQUE (session, id);


--
-- Name: nodes nodes_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (name);


--
-- Name: requests requests_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (session, seq);


--
-- Name: requests requests_session_request_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.requests
    ADD CONSTRAINT requests_session_request_id_key UNIQUE (session, request_id);


--
-- Name: sessions sessions_name_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.sessions
    ADD CONSTRAINT sessions_name_key UNIQUE (name);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (n);


--
-- Name: state state_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.state
    ADD CONSTRAINT state_pkey PRIMARY KEY (scope, key);


--
-- Name: waiting waiting_pkey; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.waiting
    ADD CONSTRAINT waiting_pkey PRIMARY KEY (session, seq);


--
-- Name: waiting waiting_session_id_key; Type: CONSTRAINT; Schema: duologue_old; Owner: -
--

ALTER TABLE ONLY duologue_old.waiting
    ADD CONSTRAINT waiting_session_id_key UNIQUE (session, id);


--
-- Name: audit_lines_name_n_idx; Type: INDEX; Schema: duologue_old; Owner: -
--

CREATE INDEX audit_lines_name_n_idx ON duologue_old.audit_lines USING btree (name, n);


--
-- Name: calls_session_idx; Type: INDEX; Schema: duologue_old; Owner: -
--

CREATE INDEX calls_session_idx ON duologue_old.calls USING btree (session) WHERE (status <> 'settled'::text);


--
-- Name: sessions_node_idx; Type: INDEX; Schema: duologue_old; Owner: -
--

CREATE INDEX sessions_node_idx ON duologue_old.sessions USING btree (node) WHERE (node IS NOT NULL);


--
-- Name: sessions_owner_idx; Type: INDEX; Schema: duologue_old; Owner: -
--

CREATE INDEX sessions_owner_idx ON duologue_old.sessions USING btree (owner);


--
-- PostgreSQL database dump complete
--


