/** Replaces character references, such as `&amp;`. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  const area = document.createElement('textarea');
  return text.replace(/&(?:#\d+|#x[\da-f]+|\w+);/gi, (reference) => {
    area.innerHTML = reference;
    return area.value;
  });
}
