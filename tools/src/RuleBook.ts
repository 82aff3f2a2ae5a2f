/**
 * The rules that Holdfast owes its users, by number, in one sentence each.
 *
 * Issues, code and test titles name rules by these ids. A rule is claimed, unless `claimed` is false here: then `pnpm check`
 * fails as long as no test names it.
 */

/** A rule. */
export interface Rule {
  /** A letter and a number. */
  readonly id: string
  /** What a user can rely on. */
  readonly says: string
  /** Not built, or not all of it. */
  readonly claimed?: false
}

/** The rules of one letter. */
export interface Chapter {
  readonly title: string
  readonly rules: ReadonlyArray<Rule>
}

/** All rules, by letter. */
export const chapters: ReadonlyArray<Chapter> = [
  {
    title: "C. The truth about a failure",
    rules: [
      { id: "C1", says: "An error is classified once, where it enters, and keeps its message word for word." },
      {
        id: "C2",
        says: "The status decides where no code does; `x-should-retry` overrides it. A used-up quota is waited for when the provider names its reset."
      },
      { id: "C3", says: "An error inside a 200 response is a failure like any other." },
      { id: "C4", says: "Only the provider's error is read for patterns, never what a user or a model wrote." },
      { id: "C5", says: "A wrapped error is looked into, five causes deep." },
      { id: "C6", says: "A stream that ends without its last frame has failed." },
      { id: "C7", says: "Half a tool call is never run." },
      {
        id: "C8",
        says: "Only content is progress; the first content, and each after it, have limits that never shrink."
      },
      { id: "C9", says: "One attempt is one HTTP request." },
      {
        id: "C10",
        says: "A bug of the program itself, or of the service while it runs a turn, is tried again at most twice; the count is on disk."
      },
      {
        id: "C11",
        says: "A response that grows beyond its limit has failed and is not retried; arguments nested deeper than 200 levels are malformed."
      },
      {
        id: "C12",
        says: "A limit delays only what the error names: a model of a credential, a credential, or an account. A success ends it."
      },
      {
        id: "C13",
        says: "A compressed answer is decoded within the bounds of C11; an unknown coding is a failure that names it and is not retried. Nothing that hides a secret in an error changes what the error is."
      }
    ]
  },
  {
    title: "D. Stepped backoff within a budget",
    rules: [
      {
        id: "D1",
        says: "5 s, 10 s, 30 s, 60 s, 5 min, 10 min, 15 min, then every 30 min: 21 retries within 8 hours, 22 with the last one clipped; or steps of your own."
      },
      {
        id: "D2",
        says: "The budget counts scheduled sleep, or by `retry.measure` the time since the first failure."
      },
      {
        id: "D3",
        says: "A failure that may pass is retried, any other ends the step: an emitted error by its own mark, a thrown one unless it is final."
      },
      { id: "D4", says: "After content nothing is retried: nothing is shown twice. X7 is the exception." },
      {
        id: "D5",
        says: "Each wait is announced before it begins, with the error, its code and the moment of the retry; the endpoint's whole answer is in `explain`."
      },
      { id: "D6", says: "The announcement of a wait is in no history and in no prompt." },
      {
        id: "D7",
        says: "When the schedule is spent, the last error, held back until then, is persisted and seals the turn as failed."
      },
      { id: "D8", says: "An abort ends a wait at once; no further attempt is made." },
      { id: "D9", says: "Without a strategy the first error ends the step." },
      {
        id: "D10",
        says: "The kernel has no I/O, no timer, no clock but the injected one, and nothing of the platform."
      },
      { id: "D11", says: "A sleep can be interrupted, and is right at any length." },
      { id: "D12", says: "Every transport carries the event of a wait unchanged; over HTTP an object is a line." },
      { id: "D13", says: "A person sees the error, its code and a running countdown." },
      { id: "D14", says: "A sleep that fails ends the turn: there is no retry without its sleep." }
    ]
  },
  {
    title: "P. Automatic retries of a conversation",
    rules: [
      { id: "P1", says: "Where there is no typed code, the wording of an error decides whether it will pass." },
      { id: "P2", says: "A context that is too long is never sent again as it is." },
      {
        id: "P3",
        says: "`retry.enabled`, `retry.maxRetries` and their defaults: on, 3 retries, 2 s, a cap of 5 minutes, no fallback chains."
      },
      { id: "P4", says: "Waits double: 2 s, 4 s, 8 s." },
      {
        id: "P5",
        says: "A delay that the provider asks for, in any of its forms, and jitter can only lengthen a wait."
      },
      { id: "P6", says: "A wait above the cap (`retry.maxDelay`) fails the turn at once." },
      {
        id: "P7",
        says: "A used-up credential, or that model of it, is set aside until its reset, and another credential takes over."
      },
      {
        id: "P8",
        says: "A target that fails cools down, and the next of its fallback chain takes over, be it of the same provider. An event reports a change of the target that was used last."
      },
      {
        id: "P9",
        says: "The primary is taken again once it has cooled down, unless that is switched off."
      },
      { id: "P10", says: "Retries are counted from 0 again, however a chain of them has ended." },
      { id: "P11", says: "Every chain of retries is closed by one event with its outcome." },
      { id: "P12", says: "A failed response leaves the model's context and stays in the history." },
      { id: "P13", says: "A prompt is not answered before its retries have ended." },
      {
        id: "P14",
        says: "A person's cancelling of the retry ends the wait; an abort cancels the retry first, then the turn."
      },
      { id: "P15", says: "A person can switch retries while a conversation runs; its state has the wait." },
      { id: "P16", says: "A mode over stdio, JSON lines in and out, with a typed client." },
      { id: "P17", says: "In the terminal: the countdown, Esc to cancel, and a line when the retries have failed." },
      { id: "P18", says: "Code that embeds a session receives every event." },
      { id: "P19", says: "A context that is too long is compacted once, and the step runs again." }
    ]
  },
  {
    title: "A. Provider cycling, synthetic retries, final report",
    rules: [
      { id: "A1", says: "Each attempt yields a directive: retry, skip the provider, or abort." },
      { id: "A2", says: "The cap counts all attempts of a step: 3 means 3." },
      {
        id: "A3",
        says: "Which errors are tried again at once where they were, such as one inside an answer that had begun well, and which at the next target."
      },
      { id: "A4", says: "Targets are taken in turn; the cursor moves on a skip and on a rate limit." },
      { id: "A5", says: "A rate limit sleeps only once every target of the cycle has one." },
      { id: "A6", says: "A rate limit waits as long as its provider asks, within 1 to 60 s." },
      { id: "A7", says: "Faults of the network wait a second more each time, up to 30 s." },
      { id: "A8", says: "A request without progress within its limit fails as a timeout." },
      {
        id: "A9",
        says: "Text where a report or a tool call was due is answered with guidance, with a warning in the log, and tried again."
      },
      { id: "A10", says: "A tool call that cannot be read is answered to the model with the reason and what it sent." },
      {
        id: "A11",
        says: "Where the context or the steps run out, only the final report is asked for."
      },
      {
        id: "A12",
        says: "A report that was malformed or incomplete leaves one more step; the log has the old and the new limit, and every report is counted."
      },
      { id: "A13", says: "A valid report is kept, whatever fails after it." },
      {
        id: "A14",
        says: "Attempts that run out on words leave one last step for the report; without one in the end there is one with the reason, and the log has it."
      },
      { id: "A15", says: "The laws of cycling hold over any sequence of failures." },
      {
        id: "A16",
        says: "Every attempt and every turn is measured, from the first on; a turn that failed is a line of the log."
      }
    ]
  },
  {
    title: "M. Manual retry",
    rules: [
      { id: "M1", says: "A manual retry runs the model again from the last user message, without what had failed." },
      {
        id: "M2",
        says: "In the terminal: /retry, or Enter on an empty line; in the web page a button."
      },
      { id: "M3", says: "An abort that the user did not ask for is a passing failure." },
      { id: "M4", says: "Every retry is a line of JSON in a log, with the thinking level where one is set." }
    ]
  },
  {
    title: "X. Beyond them",
    rules: [
      { id: "X1", says: "A sleeping turn survives its process, and wakes at its time." },
      { id: "X2", says: "What was shown before a crash is declared void before it is shown anew." },
      { id: "X3", says: "A client that comes back misses nothing and gets nothing twice." },
      { id: "X4", says: "A wait can be ended, moved, redirected and extended, and a command sent twice counts once." },
      {
        id: "X5",
        says: "Turns that wait for one endpoint do not stampede it: one finds out, the others share that or are held, and are woken early when there is room."
      },
      { id: "X6", says: "Several processes share the work; a killed one loses no turn." },
      { id: "X7", says: "By `retry.midStream` a response that broke off is void and asked for again, or kept." },
      { id: "X8", says: "A tool that ran when its process died is not run again, unless that does no harm." },
      { id: "X9", says: "Every decision is on record, and one command prints it in words." },
      {
        id: "X10",
        says: "A policy can be tried on an outage, simulated or recorded, before it is trusted."
      },
      {
        id: "X11",
        says: "Waits and budgets can differ by reason (`retry.reasons`); a turn asks before it spends much after a long wait (`retry.spendGuard`), and asks or fails at a limit (`spend`)."
      },
      {
        id: "X12",
        says: "One report in the morning, one notice for an incident and for a cause of failure, and none untrue at last."
      },
      {
        id: "X13",
        says: "Programs that know nothing of Holdfast get its patience by another base URL."
      },
      {
        id: "X14",
        says: "A turn that takes its process down again and again is run alone after three deaths, and sealed as failed after one more."
      },
      {
        id: "X15",
        says: "A turn needs no attached client: it is accepted and runs by itself, can be listed, fetched, cancelled and retried, and its end is delivered."
      }
    ]
  }
]
