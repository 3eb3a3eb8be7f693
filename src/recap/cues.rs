//! The words by which the rules know what a text is, as data. English only: a session in another language loses the cues,
//! not its text.
//!
//! Long because it is tables of words, which belong together.
//!
//! Patterns are matched against text in lower case with single spaces. `\b` is the boundary of an ASCII word.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::text::cut;
use crate::handoff::resume_mechanic;

type Cue = LazyLock<Option<Regex>>;

/// How much of a sentence is looked at.
const MAX_SENTENCE_BYTES: usize = 1_000;

/// One pattern out of many. The program has no Unicode tables, so patterns use no `\s`, `\w`, `\d` and no `(?i)`. `None` only
/// if the pattern is not valid, which the tests exclude.
pub(super) fn compile(patterns: &[&str]) -> Option<Regex> {
    let together: Vec<String> = patterns.iter().map(|pattern| format!("(?:{pattern})")).collect();
    Regex::new(&together.join("|").replace(r"\b", r"(?-u:\b)")).ok()
}

/// Words that say nothing by themselves.
const FILLER: &str = "yes yeah yep yup y no nope nah n ok okay k kk sure please pls plz thanks thank thx ty you very much so great \
    good nice perfect cool awesome excellent fine right correct exactly agreed approved lgtm looks sounds works \
    wonderful amazing continue proceed resume go going ahead on keep carry for it do that this now then and next \
    again retry try done wait stop hm hmm oh ah well to me all job work of course alright let's lets start finish up \
    just never mind nevermind understood noted either way both the a same is too also but maybe";

/// The words of our skill, with which a person asks for a handover.
const HANDOVER_WORDS: &str = "handoff handover checkpoint freeze";

/// Words for bringing work to the repository, which is not work itself.
const HOUSEKEEPING: &str = "commit push pull merge rebase amend squash ship pr mr open create draft changes change everything branch origin \
    main master remote from in message with git stage them these those first request update submit save \
    run tests test rerun upstream latest";

/// Words that refer to something said before.
const ANAPHORS: &str = "one second third other others last option options former latter fix make use apply implement them these those \
    first choice answer suggestion suggestions recommended above what said as like your way plan i would take \
    pick there here any none by such";

const GREETINGS: &str = "hi hello hey heya hiya yo morning evening afternoon good there claude codex gemini everyone team all howdy \
    greetings again are you how ready test testing ping back i'm im welcome sup what's buddy friend today doing is \
    this on working hallo bonjour hola";

/// Words of a text that says that there is nothing.
const NOTHING: &str = "none nothing left to do for now no n/a na further more remaining open steps work needed required tbd is \
    known yet at the moment all done everything";

/// Commands of clients, and those that our `install` adds. They steer the session, not the work.
const CLIENT_COMMANDS: &str = "add-dir agents approvals bashes bug checkpoint clear compact config context copy cost diff doctor effort exit export \
    extra-usage fast feedback fork freeze handoff help hooks ide install-github-app keybindings login logout mcp memory mention \
    model new output-style permissions plan plugin plugins privacy-settings quit reload-plugins release-notes rename \
    resume rewind sandbox settings skills stats status statusline terminal-setup theme todos upgrade usage vim voice";

/// Verbs with which a request begins.
pub(super) const IMPERATIVES: &str = "add|adjust|adopt|allow|analy[sz]e|apply|ask|avoid|benchmark|bring|build|bump|call|change|\
    check|choose|clean|clone|close|collapse|combine|commit|compare|compute|configure|convert|copy|correct|cover|create|cut|debug|\
    decouple|default|define|delete|deploy|deprecate|derive|design|disable|do|document|download|draft|drop|dump|edit|embed|emit|\
    enable|ensure|exclude|expand|export|expose|extend|extract|factor|fetch|find|finish|fix|flip|format|generate|get|give|go|group|\
    handle|hide|ignore|implement|import|improve|include|increase|inline|insert|install|integrate|introduce|investigate|isolate|keep|\
    leave|limit|link|load|log|make|mark|measure|merge|migrate|mock|move|name|normali[sz]e|omit|only|open|optimi[sz]e|order|\
    overwrite|parse|pass|patch|pick|pin|polish|port|prefer|print|profile|publish|pull|push|put|raise|read|rebase|record|redo|reduce|\
    refactor|register|reject|release|remove|rename|render|reorder|replace|reproduce|reset|resolve|restore|restrict|retry|return|reuse|\
    revert|review|rewrite|roll|round|run|save|scan|select|send|separate|serve|set|ship|shorten|silence|simplify|skip|solve|sort|\
    split|squash|stage|start|stay|stick|stop|store|stream|strip|support|swap|switch|take|test|throw|tidy|translate|treat|trim|try|\
    turn|undo|unify|update|upgrade|upload|use|validate|verify|vendor|wire|wrap|write";

/// What a request asks for if it only wants to know.
const INFORMATION: &[&str] = &[
    r"^(please )?(explain|describe|tell|show|list|summari[sz]e|clarify|elaborate|walk|remind|answer|compare|think|look|see|check)\b",
    r"\b(can|could|would|will) you (please |also |just |maybe |quickly )*(explain|describe|tell|show|list|summari[sz]e|clarify|elaborate|walk|remind|answer|compare|confirm|see|check|think|look|help me understand)\b",
    r"^(i wonder|i'm wondering|i am wondering|wondering|question:|q:|curious)",
];

/// What a request asks for if it wants work done.
static DIRECTIVES: Cue = LazyLock::new(|| {
    compile(&[
        &format!(
            r"^(and |then |also |now |ok |okay |please |just |first |so |next )*(let's |lets )?(also )?({IMPERATIVES})\b"
        ),
        r"\b(can|could|would|will) you\b",
        r"\bplease\b",
        r"^(so |ok |okay )?(i|we)('d| would)? (want|need|like)\b",
        r"^(so |ok |okay )?(we|you) (should|must|have to)\b",
        r"\b(let's|let us)\b|^(so |ok |okay )?lets\b",
        r"\bi'd like\b",
    ])
});

/// Beginnings of sentences that ask, also without a question mark.
const QUESTIONS: &[&str] = &[
    r"\?[^a-z0-9]*$",
    r"^(why|whose|how come|how (do|does|did|can|could|is|are|would|should|much|many|to)\b|what (is|are|was|does|do|did|should|would|if|about|happens|kind)\b|what's|who (is|are|does))\b",
    r"^(is|are|was|were|does|did|isn't|aren't|doesn't|didn't|wasn't|shouldn't (we|you|it|i|they|this|that)|should (we|i|it|they|this|that)|could (we|i|it|they|this|that)|can (we|i|it|they|this|that)|would (it|that|this|we|i)|do (we|you|they|i)|don't (we|you|they|i)|have (we|you|they|i)|has|had|haven't|hasn't|any (idea|reason|chance|way))\b",
];

/// Sentences that only consider something, or report what others say.
const NOT_SAID_SO: &[&str] = &[
    r"\b(i wonder|wondering|not sure|unsure|i'm not certain|what if|do you think|does it make sense|i guess it|no idea)\b",
    r"\bi (think|guess|assume|suppose|believe|bet) .*\bmust\b",
    r"^(maybe|perhaps|possibly|probably)\b",
    r"\b(it|they|docs?|documentation|error|message|linter|compiler|log|logs|output|ci|warning|eslint|clippy|mypy|ruff|readme|pytest|spec|guide|article|stack overflow|exception|traceback|tool|api|server|prompt|comment|code) (still |also |now |always |just |only |sometimes )*(says?|said|complains?|complained|tells?|told|reports?|reported|shows?|showed|prints?|printed|claims?|claimed|warns?|warned|states?|stated|reads|throws|threw|raises|raised|fails?|failed)\b",
    r"\baccording to\b|\bsays\b|\bcomplains\b|\b(yet|but|and) (it|they|that|this) (still )?(does|do|did|is|are|was)\b",
    r"^(add|build|create|implement|write|give|expose|extend|find|show|try|get) .* to (only|never|always|not)\b",
    // A task whose object is described, not an order to whoever reads it.
    r"^(add|build|change|check|collect|count|create|debug|describe|document|draw|explain|expose|extend|find|fix|get|give|handle|implement|investigate|list|log|mention|print|raise|rename|render|report|reproduce|send|show|simulate|test|update|verify|warn|write) .*\b(that|which|when|where|whether|how|why|if|who|case|mode|option) .*\b(never|always|only|must|not|instead|decided|bans?)\b",
    r"^(because|since|as|if) [^,]*$",
];

/// Idioms whose words would read as a ruling. They are taken out before a sentence is looked at.
const IDIOMS: &[&str] = &[
    r"\bnever ?mind\b",
    r"\b(do not|don't|dont) (worry|know|think so|understand|remember|recall|care|mind|see|get (it|why|how|what|this|that|me)|have ([a-su-z]|t[a-np-z])[a-z]*|believe|blame|hesitate|feel|panic|bother me|you|we|they|i)\b",
    r"\bi (do not|don't|dont) think (that|it|this|the|so|i|there|you|they|he|she) ?('s|is|was|are|will|would|has|works?|does|did|can|understood|got|see)?\b",
    r"\b(must|should) have ([a-z]+ed|been|seen|had|gone|done|got|gotten|taken|made|known|thought|left|lost|found|sent|run|come)\b",
    r"\b(i|you) must (admit|say|confess|be|go|run|know|think|see)\b",
    r"\b(should not|shouldn't) (have|happen|matter|be (a|an|too|so|hard|difficult|possible|happening|surprising|necessary|that)|take|hurt|need to wait)\b",
    r"\b(what|what's|what is|something|something's|something is|anything|nothing|nothing is|everything|not|went|goes|go|going|gone|are|i'm|i was|i am|i may be|i might be|if i'm|if i am|me) (wrong|incorrect)\b",
    r"\bkeep (going|it up|at it|up the|me posted|working|waiting)\b",
    r"\b(as|than|like) always\b|\balways (the same|fun|good|nice|great|welcome|wondered|been|has|was|thought|had|hated|liked)\b",
    r"\bno (need to (worry|apologi[sz]e|thank|rush)|problem|worries|idea|clue|luck|thanks|rush|hurry|way|wonder)\b",
    r"\b(use|using) (case|cases)\b",
    r"\bactually (thanks|thank you|ok|fine|good|nice|works?)\b",
    r"\bno (more |new |further |other |such )*(errors?|failures?|questions?|warnings?|issues?|problems?|crashes|complaints)\b",
    r"\bno (more |new |further |other |such )*(changes?|commits?|output|messages?|time|files?|tests?|logs?|results?|response)\b",
    r"\bno (more |new |further |other |such )*(hits?|matches|conflicts?|hint|reason|difference|effect)\b",
    r"\b(i|we) (can|could) (only|never|always)\b",
    r"\bwhat (i|we|you|they) (have |had )?(decided|agreed|chose|said)\b",
    r"\bgo (ahead|on|for it|with (that|this|it))\b",
    r"\bkeep (the|it|that|this|them|your)( [a-z]+){0,2} (running|open|going|alive|warm|ready)\b",
    r"\b(call it a day|the same)\b",
    r"\bleave (it|that|this|them|the [a-z]+) (running|open|on)\b",
    r"\buse (ultrathink|subagents?|agents?|this|it|that|your|one of)\b",
    r"\bmust be [a-z]+ed (by now|already|somewhere|somehow)\b",
    r"\bprefer to (look|see|wait|check|read|think|review|test|try|hear|know)\b",
    r"\b(let's|lets) (do|have|make|say) (it|this|that)( then| now| please)?[.!]*$",
    r"\b(keep (it|them)|stay) (coming|up|going|rolling|tuned)\b",
    r"\b(use|do) (what|whatever|whichever)\b",
    r"\b(don't|do not|never) ask me\b",
];

/// What may stand before the words that matter.
const LEADS: &[&str] = &[
    r"^(and|but|so|ok|okay|also|hm|hmm|wait|well|oh|yes|yeah|yep|sure|please|pls|btw|then|now|right|fine|great|good|thanks|thank you|sorry|cool|nice|perfect|hey|again|plus|finally|additionally|one (more )?thing|for the record|important|note|reminder|remember|fyi|listen|look|for now|in general|generally|if possible|where possible|whenever possible|in this case|as i said|ah|uh|um|perhaps just|just to be clear|to be clear|to clarify)\b[ ,.:;!-]*",
];

/// A correction at the beginning. What follows it then rules if it is an order at all.
const CORRECTIONS: &[&str] = &[
    r"^(no|nope|nah|actually|wait|instead|on second thought|on second thoughts|thinking again|thinking about it again|come to think of it|correction|hold on|stop)\b[ ,.:;!-]+",
];

/// What rules after a correction.
static CORRECTED: Cue = LazyLock::new(|| {
    compile(&[
        &format!(r"^(just |please |also |simply )*({IMPERATIVES})\b"),
        r"^(don't|dont|do not|not|never|always|only|let's|lets|let us|leave|rather|no)\b",
        r"^(that's|that is|this is|it's|it is|that was|this was|those are|these are|they're) (not|wrong|the|only|supposed|meant)\b",
        r"^(i|we)('d| would)? (want|meant|said|prefer|rather|like|need|asked|told|think we should)\b",
        r"^(i|we|you|it|they|this|that|these|those|the [a-z0-9_./-]+( [a-z0-9_./-]+)?|all|every [a-z]+) (should|must|can't|cannot|shouldn't|only|need|needs|have to|has to|do not|don't|goes|belongs?)\b",
        r"^(you|we) (can|could) (just |simply )?(use|set|take|keep|leave|skip|drop)\b",
    ])
});

/// Beginnings of a clause that rule.
const CLAUSE_STARTS: &[&str] = &[
    r"^(please |just |simply |also |and |but |or |so |that you )*(do not|don't|dont|never) (ever |even |just |yet )*[a-z]",
    r"^(please |just |and |but )*always ([a-z]*[^s ]|[a-z]*ss) [a-z0-9_]",
    r"^(please |and |but )*(stop [a-z]+ing|avoid [a-z]+)\b",
    r"^(please |and |but )*only (use|do|touch|change|run|edit|add|commit|push|log|test|fix|support|show|read|write|accept|return|keep|update|modify|ever|via|through|in|for|when|if|after|on)\b",
    r"^without (adding|using|changing|touching|breaking|introducing|any|new|a)\b",
    r"^default to [a-z]",
    r"^(there's |there is |and |but )*no need (to|for)\b",
    r"^(let's|lets|let us) (just |rather |instead |also |definitely |please |maybe )*(not|never|use|keep|stick|drop|skip|avoid|leave|stay|ignore|revert|undo|switch|only|go with|go for|hold off|forget|pick|choose|take (the|option|number)|call it|limit|pin|prefer|ban|defer|postpone|standardi[sz]e)\b",
    r"^(let's|lets|let us) (make (it|this|that|them) [a-z]|do [a-z0-9_./-]+[.!]*$|(put|store|rename|name|default|return|have) (it|this|that|them|the|all|no|only)\b)",
    r"^(and |but |so )*not (in|the|a|with|via|through|on|for|by) [a-z0-9_./-]+$",
];

/// Beginnings of a sentence that rule.
static SENTENCE_STARTS: Cue = LazyLock::new(|| {
    compile(&[
        r"^(decision|decided|ruling|rule|decisions|verdict|policy) ?(:| - | – | — )",
        r"^(from now on|going forward|henceforth|under no circumstances|in no case|as a rule|at no point)\b",
        r"^(thinking again|on second thoughts?|come to think of it|scratch that|changed my mind|i('ve| have)? changed my mind|forget (that|about|the))\b.* [a-z]",
        &format!(
            r"^(please |just |simply )*({IMPERATIVES}) .*\b(instead|rather than|only|always|never|everywhere|from now on|no matter what)\b"
        ),
        &format!(r"^(please |just |simply )*({IMPERATIVES}) [^,]*(,| and| -) (and )?(not|never|don't|do not|no) "),
        &format!(r"^(please |just |simply )*({IMPERATIVES}) [a-z0-9_./'-]+( [a-z0-9_./'-]+)? not [a-z0-9_./'-]+"),
        r"^(please )?just (use|keep|leave|skip|ignore|drop|remove|return|hardcode|hard-code|inline|delete|do)\b",
        r"^(please )?use [a-z0-9_./@'-]+( [a-z0-9_./@'-]+){0,9}[.!]?$",
        r"^(please )?keep (the|this|that|these|those|it|both|all|using|our|my|your|every|them|to the|_|[a-z]+s)\b",
        r"^(please )?leave (the|this|that|these|those|it|them|all|our|my|out|_) ",
        r"^(please )?(stick|stay|go) (with|to|on|for) [a-z0-9_]",
        r"^(please )?(prefer|ban|forbid|disallow) [a-z0-9_]",
        r"^(please )?(drop|skip|ignore|forget about) (the|that|this|these|those|it|all|any|_|[a-z]+s\b)",
        r"^(please )?(revert|undo|roll back) (that|this|the|it|your|those|these)\b",
        &format!(
            r"^(instead of|rather than) [^,]*(, (please |just )*({IMPERATIVES}|fork)| (please )?(use|do)|,? (let's|we should|you should|i want))\b"
        ),
        &format!(r"^instead,? (please |just )*({IMPERATIVES}|let's|we should|you should|i want)\b"),
        r"^no [a-z-]+( [a-z-]+)?,? (please|here|in|for|at all|anywhere|allowed|ever)\b",
        r"^only (the |an? )?[a-z]+( [a-z]+)? (may|can|should|must)\b",
        r"^(that's|that is|this is|it's|it is) the wrong [a-z]+",
        r"^no (more|new|extra|additional|external|further|third-party|global|magic) [a-z]+",
        r"^(always )?ask (me )?(first|before)\b",
        r"^(make sure|be sure|ensure|take care|mind) .*\b(never|not|don't|only|always|no)\b",
        r"^(remember|keep in mind|note)( that|:| to)? .*\b(never|not|don't|only|always|must|no)\b",
        r"^(i('ll| will| would|'d)? |we('ll| will)? |let me |let's )?(choose|pick|go with|take|going with) (the |option |number |approach |variant )",
        r"^(option|variant|approach|alternative|choice|plan|version) ([0-9]+|[a-e])\b",
        r"^(rejected|vetoed|agreed|denied|approved)[:,] [a-z]",
        r"^i like (the )?(option|approach|first|second|third|last|latter|former|variant|idea of)\b",
        r"^(that's|that is|this is|it's|it is|you're|you are|that was) (still |also |just |completely |totally |simply |all )*(wrong|incorrect|not (correct|right|true|what|how|the|acceptable|ok|okay|good enough|allowed|needed|necessary))\b",
        r"^(your|this|that|these|those) [a-z0-9_./ -]{0,60}\b(is|are|was) (still |just |simply )*(wrong|incorrect|not (correct|right|what|how))\b",
        r"^the [a-z0-9_./ -]{0,60}\b(is|are|was) (still |just |simply )*(wrong|incorrect|not (correct|right)) ?[,:;] [a-z]",
        r"^(wrong|incorrect|not correct|not right)\b[ ,.:;!-]+[a-z0-9]",
    ])
});

/// What rules anywhere in a sentence.
const ANYWHERE: &[&str] = &[
    r"\b(from now on|going forward|under no circumstances|henceforth)\b",
    r"\b(i|we)('ve| have|'ve just| have just| just| finally| already)? (decided|settled on|agreed (on|to|that)|chose|opted|ruled out|committed to)\b",
    r"\b(i|we)('d| would)?( much| really| strongly| still| generally)? (prefer|rather (not|have|keep|use|we|you|go|see|do|avoid|stay))\b",
    r"\b(my|our) (preference|decision|choice|convention|policy|rule) is\b",
    r"\b(changed my mind|thinking again|on second thoughts?)\b",
    r"\b(is|are|it's|they're) (strictly |absolutely |now )*(banned|off[ -]limits|out of scope|prohibited|forbidden|not allowed|non-negotiable|not negotiable|no longer (needed|wanted|allowed|necessary|supported)|not (needed|wanted|acceptable) )",
    r"\b(should|must|can|may|shall) (only|never|always)\b",
    r"\b(must|shall|should|may) not\b|\b(mustn't|shouldn't)\b",
    // "It must be a cache" guesses, "it must be sorted" demands.
    r"\bmust (not |only |always |also )*(be ([a-z]+ed|unique|optional|idempotent|atomic|deterministic|stable|imperative|kept|sent|set|written|run|built|at (least|most)|able to|[a-z]+ compatible))\b",
    r"^must (not|never|only|always|work|stay|keep|return|use|support|pass|fit|remain|match|compile|build)\b",
    r"\bmust (also )?have (a|an|the|no|at least|only|exactly|one)\b",
    r"[a-z0-9_] must (always |also )*([acdf-gi-z][a-z]+|e[a-z]+|b[a-df-z][a-z]*|h[b-z][a-z]+|ha[a-uw-z][a-z]*)\b",
    r"\b(needs?|has|have) to (stay|remain|keep)\b",
    r"\b(we|you) (should|need to|have to|ought to) (really |rather |just |simply |definitely )*(use|keep|stick|avoid|prefer|drop|go with|stay|leave)\b",
    r"\b(we|i) (do not|don't|dont) (really |actually |ever )*(want|need|like|use|do|support|allow|ship|commit|accept|mock|log|write|put|store|merge|push|add|touch|test|deploy|release|break|rely|depend|run|bundle|vendor)\b",
    r"\b(you|we) (do not|don't|dont) (need|have) to\b",
    r"\bi (do not|don't|dont) think (we|you|it|this|that|the [a-z]+) (should|need|needs|must|have to|has to|ought)\b",
    r"\b(you|we) (can't|cannot|can not|may not) (use|add|change|touch|rely|depend|break|commit|ship|push|edit|modify|remove|delete|drop|store|log|install|require)\b",
    r"\bwe (always|never|only) (use|do|write|log|commit|push|merge|rebase|squash|test|mock|deploy|ship|store|keep|put|return|pin|release|support|run|name|format|raise|throw|call|add|accept|sort|want|need)\b",
    r"\b(we're|we are|i'm|i am) (not )?(going with|sticking (with|to)|staying (with|on)|keeping|dropping|switching to|not going to)\b",
    r"\b(we'll|we will|we're going to) (go with|use|keep|stick|stay|skip|drop|take|support)\b",
    r"\b(we|i) (won't|will not|aren't going to|are not going to) (support|use|add|do|ship|merge|keep|change|need)\b",
    r"\b(i'll|i will) (go with|take|keep|stick|stay)\b",
    r"^you can (drop|skip|ignore|leave|remove|delete|forget)\b",
    r"[,;:] (please |just )*(revert|undo|keep|leave|use|stick to|stick with|go with|drop) (the|it|that|this|them|both|those|these|all|a|an|_)\b",
    r"\bonly (via|through|ever)\b",
    // A ruling is taken back.
    r"\b(is|are) (fine|ok|okay|allowed|acceptable|good enough) after all\b",
    r"\b(let's|(we|you) (can|may|should)|we'll|we will) [^,;]{1,60} after all\b",
    r"\bnot what (i|we) (asked|wanted|want|meant|said|need|needed|agreed|had in mind)\b",
    r"^i (meant|said|told you|asked (you )?(for|to))\b",
    r"\byou ([a-z]+ ){1,2}the wrong\b",
    r"\b(you|we) can (just |simply )+(use|skip|drop|leave|ignore|remove|keep|set)\b",
    r"\bi want [^?]*(,| and) not\b|\bi want (no|only)\b",
    r"\b(never|don't|do not) (ever )?(touch|commit|push|delete|edit|change|modify|use|run|merge|deploy|log|store|add|remove|mock|skip|disable|rename|install|overwrite|force|rewrite|start|call|import|hardcode|squash|rebase|format|break|write) [^?]*\b(please|again|here|without|until|unless|directly|anymore|any more|yet)\b",
];

/// What rules even in the first request, which otherwise is the task.
const STANDING: &[&str] = &[
    r"^(please )?(never|under no circumstances|at no point) [a-z]",
    r"^from now on\b",
    r"^(decision|ruling|rule|policy): ",
    r"\bafter all\b",
];

/// Polite orders that end in a question mark.
const POLITE_ORDERS: &[&str] = &[
    r"^(can|could|would|will) you (please |maybe |just |rather )*(use|do|put|make|keep|write|switch|call|take|return|store|move) .*\b(instead|rather than|, not)\b",
    r"^(can|could|would|will) you (please )?(not|never|stop|always|avoid) ",
];

static INFORMATION_CUE: Cue = LazyLock::new(|| compile(INFORMATION));
static QUESTION_CUE: Cue = LazyLock::new(|| compile(QUESTIONS));
static NOT_SAID_SO_CUE: Cue = LazyLock::new(|| compile(NOT_SAID_SO));
static IDIOM_CUE: Cue = LazyLock::new(|| compile(IDIOMS));
static LEAD_CUE: Cue = LazyLock::new(|| compile(LEADS));
static CORRECTION_CUE: Cue = LazyLock::new(|| compile(CORRECTIONS));
static CLAUSE_CUE: Cue = LazyLock::new(|| compile(CLAUSE_STARTS));
static ANYWHERE_CUE: Cue = LazyLock::new(|| compile(ANYWHERE));
static STANDING_CUE: Cue = LazyLock::new(|| compile(STANDING));
static POLITE_ORDER_CUE: Cue = LazyLock::new(|| compile(POLITE_ORDERS));

fn has(cue: &Cue, text: &str) -> bool {
    cue.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a sentence decides, corrects, forbids or chooses something.
pub(super) fn is_ruling(sentence: &str) -> bool {
    let said = matchable(sentence);
    let said = without_leads(&said);
    let corrected = without_correction(said);
    if has(&QUESTION_CUE, corrected.unwrap_or(said)) {
        return has(&POLITE_ORDER_CUE, said);
    }
    if has(&NOT_SAID_SO_CUE, said) || has(&INFORMATION_CUE, said) {
        return false;
    }
    let Some(idioms) = IDIOM_CUE.as_ref() else { return false };
    let corrected = corrected.map(|corrected| idioms.replace_all(corrected, "_"));
    let said = idioms.replace_all(said, "_");
    corrected.is_some_and(|corrected| has(&CORRECTED, &corrected) || has(&SENTENCE_STARTS, &corrected))
        || has(&SENTENCE_STARTS, &said)
        || has(&ANYWHERE_CUE, &said)
        || clauses(&said).any(|clause| has(&CLAUSE_CUE, clause))
}

/// Whether a sentence is a rule for all time, so that it rules even in the first request.
pub(super) fn is_standing(sentence: &str) -> bool {
    let said = matchable(sentence);
    let said = without_leads(&said);
    is_ruling(sentence) && has(&STANDING_CUE, said)
}

/// Whether a text begins by correcting what was said or done before.
pub(super) fn is_correction(text: &str) -> bool {
    let said = matchable(text);
    without_correction(without_leads(&said)).is_some()
}

/// Whether a sentence asks something, rather than for something.
pub(super) fn is_question(sentence: &str) -> bool {
    let said = matchable(sentence);
    let said = without_leads(&said);
    has(&INFORMATION_CUE, said) || has(&QUESTION_CUE, said) && !has(&DIRECTIVES, said)
}

/// Whether a sentence asks for work.
pub(super) fn is_directive(sentence: &str) -> bool {
    let said = matchable(sentence);
    let said = without_leads(&said);
    has(&DIRECTIVES, said) && !has(&INFORMATION_CUE, said)
}

/// Whether a text answers what the agent said, so that it means nothing without that.
pub(super) fn is_reply(text: &str) -> bool {
    let said = matchable(text);
    let first = said.split([' ', ',', '.', ':', ';', '!']).next().unwrap_or_default();
    ["yes", "yeah", "yep", "no", "nope", "nah", "actually"].contains(&first)
}

/// Whether a text says nothing by itself: "yes", "ok thanks", "continue".
pub(super) fn is_filler(text: &str) -> bool {
    words_are_all(text, &[FILLER, HANDOVER_WORDS]) || is_mechanic(text)
}

/// Whether a person only asks for a handover: "handoff", "checkpoint please".
pub(super) fn is_handover_word(text: &str) -> bool {
    words_are_all(text, &[FILLER, HANDOVER_WORDS]) && !words_are_all(text, &[FILLER])
}

/// Whether a text asks for nothing that anybody has to know later: filler, "commit it", "push".
pub(super) fn is_trivial(text: &str) -> bool {
    words_are_all(text, &[FILLER, HOUSEKEEPING, HANDOVER_WORDS]) || is_mechanic(text)
}

/// Whether a text means nothing without what was said before: "do both please", "the second one".
pub(super) fn is_anaphor(text: &str) -> bool {
    let text = text.trim();
    is_trivial(text)
        || words_are_all(text, &[FILLER, HOUSEKEEPING, ANAPHORS])
        || text.len() <= 20
            && words_are_all(&text.replace(|c: char| c.is_ascii_digit() || c == '#', ""), &[FILLER, ANAPHORS])
}

pub(super) fn is_greeting(text: &str) -> bool {
    words_are_all(text, &[GREETINGS])
}

/// Whether a text says that there is nothing: "none", "nothing left to do".
pub(super) fn is_nothing(text: &str) -> bool {
    words_are_all(text, &[NOTHING])
}

/// Whether a slash command steers the client rather than the work.
pub(super) fn is_client_command(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('/').split_whitespace().next().unwrap_or_default();
    let name = name.strip_prefix("agent-handover:").unwrap_or(name);
    CLIENT_COMMANDS.split(' ').any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a text only tells how to get back to work: "continue where we left off".
fn is_mechanic(text: &str) -> bool {
    text.len() <= 200
        && text.split(['.', ';', '!', '?', '\n']).filter(|clause| !clause.trim().is_empty()).all(|clause| {
            let goes_on = clause.split_whitespace().any(|word| matches!(word, "and" | "then" | "before"));
            !goes_on && resume_mechanic(clause).is_some()
        })
}

/// Whether a short text has no words but these. A text without words says nothing.
fn words_are_all(text: &str, lists: &[&str]) -> bool {
    let said = matchable(cut(text, 300));
    let words = said.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_' | '/'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(13).collect();
    text.len() <= 300
        && words.len() <= 12
        && words.iter().all(|word| lists.iter().any(|list| list.split(' ').any(|known| known == *word)))
}

/// A text as the patterns expect it. Inline code and quotes become `_`: what they say is not said by the speaker.
fn matchable(text: &str) -> String {
    let mut said = String::new();
    let mut rest = cut(text, MAX_SENTENCE_BYTES);
    while let Some(at) = rest.find(['`', '"', '“']) {
        let open = rest[at..].chars().next().unwrap_or_default();
        let inside = &rest[at + open.len_utf8()..];
        let close = if open == '“' { '”' } else { open };
        said.push_str(&rest[..at]);
        match inside.find(close) {
            Some(end) => {
                said.push_str(" _ ");
                rest = &inside[end + close.len_utf8()..];
            }
            None => rest = inside,
        }
    }
    said.push_str(rest);
    let said = said.to_ascii_lowercase().replace('’', "'").replace(['*', '—', '–'], " ");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words that matter.
fn without_leads(said: &str) -> &str {
    let mut rest = said;
    // A person rarely piles up more than this.
    for _ in 0..6 {
        match LEAD_CUE.as_ref().and_then(|regex| regex.find(rest)) {
            Some(lead) if lead.end() < rest.len() => rest = &rest[lead.end()..],
            _ => break,
        }
    }
    rest
}

/// What follows a correction at the beginning, if there is one.
fn without_correction(said: &str) -> Option<&str> {
    let correction = CORRECTION_CUE.as_ref()?.find(said)?;
    Some(without_leads(&said[correction.end()..])).filter(|rest| !rest.is_empty())
}

/// The clauses of a sentence, each without what joins it to the one before.
fn clauses(said: &str) -> impl Iterator<Item = &str> {
    let clauses =
        said.split([',', ';', ':', '(']).flat_map(|part| part.split(" - ")).flat_map(|part| part.split(" but "));
    clauses.flat_map(|part| part.split(" and ")).flat_map(|part| part.split(" so ")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_valid_in_the_program_too() {
        for cue in [
            &DIRECTIVES,
            &CORRECTED,
            &SENTENCE_STARTS,
            &INFORMATION_CUE,
            &QUESTION_CUE,
            &NOT_SAID_SO_CUE,
            &IDIOM_CUE,
            &LEAD_CUE,
            &CORRECTION_CUE,
            &CLAUSE_CUE,
            &ANYWHERE_CUE,
            &STANDING_CUE,
            &POLITE_ORDER_CUE,
        ] {
            // Dev-dependencies turn on features of the regex crate that the program is built without: there, a pattern with a
            // Unicode class or without regard to case would be no pattern at all.
            let pattern = cue.as_ref().unwrap().as_str();
            assert!(!["\\s", "\\w", "\\d", "\\p", "(?i"].iter().any(|class| pattern.contains(class)), "{pattern}");
        }
    }

    #[test]
    fn what_says_nothing_is_trivial() {
        for text in [
            "yes",
            "Yes.",
            "ok thanks!",
            "continue",
            "go ahead",
            ":)",
            "do it",
            "lgtm",
            "sounds good",
            "continue where we left off",
            "handoff",
            "ok, handoff please",
            "Checkpoint!",
            "$handoff",
        ] {
            assert!(is_filler(text) && is_trivial(text), "{text}");
        }
        for text in [
            "push",
            "commit it",
            "commit and push",
            "commit this, push, open draft PR",
            "yes, then commit, push",
            "merge it",
        ] {
            assert!(!is_filler(text) && is_trivial(text), "{text}");
        }
        for text in [
            "fix the parser",
            "commit only src/",
            "continue with the lexer",
            "ja, bitte den Parser",
            "read the handoff and fix lexer.rs",
            "validate the handoff",
            "修复解析器",
        ] {
            assert!(!is_trivial(text), "{text}");
        }
        for text in ["do both please", "yes and yes", "the second one", "option 2", "181", "fix it", "do that again"] {
            assert!(is_anaphor(text), "{text}");
        }
        for text in ["hi", "Hey!", "hello there", "good morning Claude", "hey, are you there?"] {
            assert!(is_greeting(text), "{text}");
        }
        assert!(!is_greeting("Hey Claude, the parser drops spans"));
    }

    #[test]
    fn quotes_are_not_what_the_speaker_says() {
        assert_eq!(matchable("It’s `never` “must” \"don't\" **OK**"), "it's _ _ _ ok");
        assert_eq!(matchable("an open ` mark"), "an open mark");
    }
}
