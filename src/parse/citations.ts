import { isObject, list, type Obj, objects, str, strOrNull, textOf } from './json.ts';
import type { Citation, Output, Part } from './reading.ts';

/**
 * Reads the fields of a source, and of the objects inside it down to two levels: `url_citation`, `web`, `location.web`, `document`.
 *
 * A comment such as `// source.url` names the meaning of the `case` labels below it, a `SourceField` of `api.ts`. The labels are generated: see `ApiNames`.
 */
function describe(citation: Citation, source: Obj, depth: number): void {
  let inner: Obj | undefined;
  let origin: unknown;
  for (const name in source) {
    const value = source[name];
    switch (name) {
      // source.url
      case 'url':
      case 'uri':
      case 'sourceUri':
        citation.url ??= strOrNull(value);
        break;
      // source.origin
      case 'source':
        origin = value;
        break;
      // source.title
      case 'title':
      case 'document_title':
      case 'filename':
        citation.title ??= strOrNull(value);
        break;
      // source.text
      case 'cited_text':
      case 'sourceContent':
      case 'text':
        citation.text ??= strOrNull(textOf(value));
        break;
      default:
        if (isObject(value)) inner ??= value;
    }
  }
  if (inner && depth < 2) describe(citation, inner, depth + 1);
  citation.url ??= strOrNull(origin);
}

/**
 * Adds sources to the output.
 *
 * @param sources A list of source objects and URLs.
 * @param part The part that cites the sources. If it is a text part, the function adds the citations to it as well.
 */
export function addCitations(out: Output, sources: unknown, part?: Part): void {
  for (const raw of list(sources)) {
    const source = typeof raw === 'string' ? { url: raw } : raw;
    if (!isObject(source)) continue;
    // One citation of Cohere lists several sources. The `text` of that citation is a part of the answer and not of a source, so it is not read.
    const inner = objects(source.sources);
    for (const described of inner.length > 0 ? inner : [source]) {
      const citation: Citation = {
        type: str(described.type) || 'citation',
        url: null,
        title: null,
        text: null,
        raw,
      };
      describe(citation, described, 0);
      out.citations.push(citation);
      if (part?.type !== 'text') continue;
      part.citations ??= [];
      part.citations.push(citation);
    }
  }
}

/** Adds sources that are listed as URLs, except URLs that the citations of the output already have. */
export function addAddresses(out: Output, addresses: unknown): void {
  const known = new Set(out.citations.map(({ url }) => url));
  addCitations(
    out,
    list(addresses).filter((url) => typeof url === 'string' && !known.has(url)),
  );
}
