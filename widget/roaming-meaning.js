// Search by meaning in the browser: the vectors of the sections, and the table of word pieces that makes a vector of a
// query, as in mkdocs_roaming/embeddings/table.py. Loaded after the first results.

const ZERO = 8; // the half byte for zero
const ROOTS = 8; // factor of the roots of word counts, which are rounded down
const LONGEST_PIECE = 24;

/** Compares queries with sections. `table` and `vectors` are the files as array buffers, `weight` is that of a sentence. */
export class Meaning {
  #pieces; // the number of each piece
  #weights;
  #halves; // the numbers of all pieces
  #windows = []; // of the sections: row, scale, numbers
  constructor(table, vectors, weight) {
    this.weight = weight;
    const [count, dimensions, size] = new Uint32Array(table.slice(8, 20));
    const pieces = new TextDecoder().decode(table.slice(20, 20 + size)).split("\n");
    this.#pieces = new Map(pieces.map((piece, number) => [piece, number]));
    this.#weights = new Uint8Array(table, 20 + size, count);
    this.#halves = new Uint8Array(table, 20 + size + count);
    this.dimensions = dimensions;
    const [, sections, windows, name] = new Uint32Array(vectors.slice(8, 24));
    const ids = new DataView(vectors, 24 + name);
    const scales = 24 + name + 8 * (sections + windows); // after the digests of the windows
    const scale = new DataView(vectors, scales);
    for (let at = 0; at < sections; at++) {
      const row = ids.getUint32(8 * at);
      for (let number = ids.getUint32(8 * at + 4, true); number; number--) {
        const window = this.#windows.length;
        const numbers = new Int8Array(vectors, scales + 4 * windows + window * dimensions, dimensions);
        this.#windows.push({ row, scale: scale.getFloat32(4 * window, true), numbers });
      }
    }
  }
  /** Return whether a word in lower case without accents is one piece. */
  knows(word) {
    return this.#pieces.has(word);
  }
  /** Return the cosine of each section with a query by its row, where it is positive. */
  near(query) {
    const sums = this.#embed(query);
    const length = Math.hypot(...sums);
    const near = new Map();
    for (const { row, scale, numbers } of this.#windows) {
      let product = 0;
      for (let at = 0; at < numbers.length; at++) product += sums[at] * numbers[at];
      const cosine = (product * scale) / length;
      if (cosine > (near.get(row) ?? 0)) near.set(row, cosine);
    }
    return near;
  }
  #embed(text) {
    const counts = new Map();
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const sums = new Float64Array(this.dimensions);
    const half = this.dimensions / 2;
    for (const [word, count] of counts)
      for (const piece of this.#split(word.normalize("NFD").replace(/\p{Mn}/gu, ""))) {
        const weight = Math.floor(ROOTS * Math.sqrt(count)) * this.#weights[piece];
        for (let at = 0; at < half; at++) {
          const byte = this.#halves[piece * half + at];
          sums[2 * at] += weight * ((byte & 15) - ZERO);
          sums[2 * at + 1] += weight * ((byte >> 4) - ZERO);
        }
      }
    return sums;
  }
  /** Return the numbers of a word's pieces, each the longest known; none if a part of it is unknown. */
  #split(word) {
    const pieces = [];
    for (let start = 0; start < word.length; ) {
      let end = Math.min(word.length, start + LONGEST_PIECE);
      const number = () => this.#pieces.get((start ? "##" : "") + word.slice(start, end));
      while (end > start && number() === undefined) end--;
      if (end === start) return [];
      pieces.push(number());
      start = end;
    }
    return pieces;
  }
}
