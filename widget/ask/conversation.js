// The turns of <roaming-ask>: one question runs at a time, the next one waits; after an outage questions are sent again.

const MOST_SENT = 6; // turns that are sent with a question
const OUTAGE = 60_000; // ms between two attempts to reach an endpoint that could not be reached

const loadTurn = async () => (await import(new URL("roaming-turn.js", import.meta.url))).Turn;
const joinQuestions = (...questions) => questions.filter(Boolean).join("\n");

/** The conversation of an element. `memory` keeps the turns for the next page. */
export class Conversation {
  turns = [];
  #host;
  #panel;
  #memory;
  #Turn; // the class, once it is loaded
  #restored; // resolves when the turns of the previous page are shown
  #restoring = false; // whether there are turns that are not shown yet
  #running; // aborts the current answer
  #ended; // resolves when the current answer has ended
  #next; // the question that is sent after the current answer
  #outage; // the timer of an outage

  constructor(host, panel, memory) {
    this.#host = host;
    this.#panel = panel;
    this.#memory = memory;
    this.#restored = this.#restore().finally(() => panel.endRestoring());
  }
  get isRunning() {
    return !!this.#running;
  }
  /** Whether the endpoint could not be reached, or has no answers today. */
  get isDown() {
    return !!this.#outage;
  }
  /** Whether nothing was asked, on earlier pages either. */
  get isEmpty() {
    return !this.turns.length && !this.#restoring;
  }
  /** The question that waits, or the last one. */
  get last() {
    return this.#next || this.turns.at(-1)?.question;
  }
  /** Send a question after the current answer has ended. */
  async ask(question) {
    const { input } = this.#panel;
    this.endOutage();
    if (input.value.trim() === question) input.value = ""; // otherwise the reader is typing the next one
    if (this.#running?.signal.aborted) await this.#ended;
    if (this.#running) return this.queue(joinQuestions(this.#next, question));
    await (this.#ended = this.#answer(question));
  }
  /** Let a question wait for the end of the current answer; without one, none waits. */
  queue(question) {
    this.#next = question;
    this.#panel.showNext(question);
  }
  /** Stop the current answer. */
  stop() {
    this.#running?.abort();
  }
  /** Delete all turns. */
  reset() {
    this.stop();
    this.queue();
    const { turns } = this;
    const { cleared } = this.#memory;
    const last = turns.at(-1);
    const draft = this.#panel.input.value || (last?.empty !== false && last?.question);
    this.endOutage();
    this.#replace([], Date.now());
    const undo = () => {
      this.#panel.input.value ||= draft || "";
      this.#replace(turns, cleared);
    };
    this.#panel.offerUndo(last && undo);
  }
  /** Show other turns, and store them. */
  #replace(turns, cleared) {
    for (const { article } of this.turns) article.remove();
    this.turns = [];
    for (const turn of turns) this.#add(turn);
    this.#memory.cleared = cleared;
    this.keep();
    this.#host._draw();
  }
  /** Store the turns for the next page. */
  keep() {
    const turns = this.#merge();
    this.#memory.keepTurns(turns) || this.#memory.keepTurns(turns.slice(-MOST_SENT));
  }
  /** Return what is to be stored: the turns of this tab, and those of others that share the storage. */
  #merge() {
    const { turns, isShared, cleared } = this.#memory;
    for (const turn of this.turns) turn.at ??= Date.now() + Math.random(); // is its id, too
    const own = this.turns.map(({ question, parts, code, at }) => ({ question, parts, code, at }));
    if (!isShared) return own;
    const others = (turns ?? []).filter(({ at }) => !own.some((one) => one.at === at));
    const isKept = ({ at = 0, parts, code }) => at > cleared && !(code && !parts.length);
    return [...others, ...own].filter(isKept).sort((one, other) => one.at - other.at);
  }
  /** Follow the other tabs; during an answer nothing moves. */
  async sync() {
    await this.#restored;
    const Turn = (this.#Turn ??= await loadTurn());
    if (this.#running) return; // its end follows them
    const merged = this.#merge();
    if (merged.length === this.turns.length && merged.every(({ at }, n) => at === this.turns[n].at)) return;
    const find = (entry) => this.turns.find(({ at }) => at === entry.at) ?? this.#rebuild(Turn, entry);
    this.#replace(merged.map(find), this.#memory.cleared);
  }
  /** End an outage if the endpoint answers again. */
  async probe() {
    if (!this.#outage) return;
    clearTimeout(this.#outage);
    const health = new URL("healthz", this.#host.settings.endpoint);
    const response = await this.#host.fetch(health, { cache: "no-store" }).catch(() => {});
    if (!this.#outage) return; // the reader has asked again
    if (!response || response.status >= 500) return this.#beginOutage();
    this.endOutage();
    this.#panel.say(this.#host.settings.words.online);
  }
  /** Accept questions again. */
  endOutage() {
    if (!this.#outage) return;
    this.#outage = clearTimeout(this.#outage);
    this.#host._draw();
  }
  #beginOutage() {
    this.#outage = setTimeout(() => this.probe(), OUTAGE);
  }

  async #answer(question) {
    const { signal } = (this.#running = new AbortController());
    let turn, problem;
    try {
      await this.#restored;
      const Turn = (this.#Turn ??= await loadTurn()); // not a task later if it is loaded: the question is shown at once
      const body = this.#host._describe(question, this.turns.map((one) => one.signed).filter(Boolean).slice(-MOST_SENT));
      turn = new Turn(this.#host, question);
      this.#panel.offerUndo();
      this.#add(turn);
      this.#removeEmpty();
      this.#host._draw();
      this.#panel.showTurn(turn.article);
      this.#host._emit("ask", { question });
      problem = await turn.run(body, signal);
    } catch {
      problem = { code: "lost" }; // a module could not be loaded
    }
    this.stop(); // ignore the rest of the stream
    this.#running = undefined;
    if (turn && !this.turns.includes(turn)) return turn.finish(problem, false); // the reader has started over, and may undo that
    const next = this.#next;
    if (next) this.queue();
    const isDown = ["down", "money"].includes(problem?.code) && this.#host.settings.mode === "auto";
    if (!turn || isDown) return this.#giveBack(turn, joinQuestions(question, next));
    const failed = this.#finish(turn, problem);
    if (failed) {
      this.#panel.input.value ||= joinQuestions(question, next);
      if (this.#host.shadowRoot.activeElement) this.#panel.input.focus();
    }
    this.keep();
    this.#host._draw();
    if (this.#memory.isShared) this.sync();
    if (next && !failed) this.#host.ask(next);
  }
  /** Put a question that could not be sent back into the input. */
  #giveBack(turn, question) {
    const { words } = this.#host.settings;
    if (turn) {
      this.turns.pop().article.remove();
      this.#beginOutage();
    }
    this.#panel.say(turn ? words.down : words.lost, true);
    return this.#host.prefill(joinQuestions(question, this.#panel.input.value));
  }
  /** Show the result of a turn; return whether it failed. */
  #finish(turn, problem) {
    try {
      return turn.finish(problem);
    } catch {
      turn.status = undefined; // the response was invalid
      return turn.finish({ code: "lost" });
    }
  }
  #add(turn) {
    this.#panel.add(turn.article);
    this.turns.push(turn);
  }
  /** Remove turns that ended before there was an answer: their question is asked again. */
  #removeEmpty() {
    for (const { empty, article } of this.turns) if (empty) article.remove();
    this.turns = this.turns.filter(({ empty }) => !empty);
  }
  #rebuild(Turn, { question, parts, code, at }) {
    const turn = new Turn(this.#host, question);
    turn.at = at;
    for (const part of parts) turn.part(part);
    turn.finish(code && { code }, false);
    return turn;
  }
  async #restore() {
    const stored = this.#memory.turns;
    if (!stored?.length) return;
    this.#restoring = true;
    try {
      this.#panel.beginRestoring();
      const Turn = (this.#Turn = await loadTurn());
      for (const entry of stored) this.#add(this.#rebuild(Turn, entry));
      this.#panel.place = this.#memory.state.place;
    } catch {} // written by another version
    this.#restoring = false;
    this.#host._draw();
  }
}
