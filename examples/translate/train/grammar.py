"""A small grammar of English, with the French of everything it says: the corpus of the model in ../model.

    python3 grammar.py --corpus [N]    the first N sentences of the corpus: English, a tab, French
    python3 grammar.py --check [N]     whether held_out.tsv is what the grammar gives, and those N keep the rule below
    python3 grammar.py --held-out      writes held_out.tsv beside this file

It takes Python alone, and says the same everywhere. held_out.tsv is what a model is scored on; there a third field
names the subject, the verb and the object of each clause in which both are nouns. No sentence of the corpus holds the
three words of such a clause together, wherever they stand in it and in whatever form.

Sentences come from patterns (Grammar.PATTERNS) and make sense as far as the classes of nouns go: who can read, what can
be eaten. Each has one translation. Where French leaves a choice the grammar has made it: "you" is "vous", "they" "ils",
a question has "est-ce que", the English past is the passé composé."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 2017
SENTENCES = 300000  # of the corpus
HELD_OUT = 400  # sentences of the other kind
FILE = os.path.join(HERE, "held_out.tsv")

# ==== Words =======================================================================================================

# English singular and plural, French singular and plural, gender, classes:
# p: people, z: those who can be petit, grand or beau without becoming a relative or more than a friend, a: animals,
# f: food, t: things, l: places; r: what is read or written, q: on paper, h: in the head; o: what opens, b: is built,
# w: is washed, x: is used, m: helps with a text, e: with a picture; i: has an inside, u: a top, v: room below, n: room
# near it, as all of l have.
NOUNS = """
man men | homme hommes | m p
woman women | femme femmes | f p
child children | enfant enfants | m p
boy boys | garçon garçons | m p z
girl girls | fille filles | f p z
teacher teachers | professeur professeurs | m p z
student students | étudiant étudiants | m p z
doctor doctors | médecin médecins | m p z
king kings | roi rois | m p z
queen queens | reine reines | f p z
friend friends | ami amis | m p
brother brothers | frère frères | m p
mother mothers | mère mères | f p
father fathers | père pères | m p
sister sisters | sœur sœurs | f p
hero heroes | héros héros | m p z
cat cats | chat chats | m a
dog dogs | chien chiens | m a
bird birds | oiseau oiseaux | m a
horse horses | cheval chevaux | m a
mouse mice | souris souris | f a
bee bees | abeille abeilles | f a
wolf wolves | loup loups | m a
owl owls | hibou hiboux | m a
apple apples | pomme pommes | f f w
cake cakes | gâteau gâteaux | m f
orange oranges | orange oranges | f f w
egg eggs | œuf œufs | m f w
book books | livre livres | m r q o
letter letters | lettre lettres | f r q o
story stories | histoire histoires | f r h
word words | mot mots | m r h
sentence sentences | phrase phrases | f r h
language languages | langue langues | f r h
song songs | chanson chansons | f r h
newspaper newspapers | journal journaux | m r q
car cars | voiture voitures | f t o i b w x n
chair chairs | chaise chaises | f t u v b w x
table tables | table tables | f t u v b w x
key keys | clé clés | f t x
door doors | porte portes | f t o b w n
window windows | fenêtre fenêtres | f t o b w n
boat boats | bateau bateaux | m t i b w x
hat hats | chapeau chapeaux | m t w
flower flowers | fleur fleurs | f t
picture pictures | image images | f t
box boxes | boîte boîtes | f t o i b x
machine machines | machine machines | f t b m e x
computer computers | ordinateur ordinateurs | m t b m e x
transformer transformers | transformateur transformateurs | m t m x
dictionary dictionaries | dictionnaire dictionnaires | m t m x q
house houses | maison maisons | f l i b
garden gardens | jardin jardins | m l i
tree trees | arbre arbres | m l i v
church churches | église églises | f l i b
school schools | école écoles | f l i b
island islands | île îles | f l u
bridge bridges | pont ponts | m l u v b
river rivers | rivière rivières | f l
forest forests | forêt forêts | f l i
town towns | ville villes | f l i b
castle castles | château châteaux | m l i b
hospital hospitals | hôpital hôpitaux | m l i b
"""

# English: base, third person, past, -ing (- where it is not said). French: the present of je, il, nous, vous, ils, the
# participle, the infinitive, the stem of the future unless that is the infinitive; or the infinitive of a regular verb.
# What subject and object may be, as classes; +: it is also done with something's help.
VERBS = """
see sees saw - | vois voit voyons voyez voient vu voir verr | pa | pafqtl
love loves loved - | aimer | pa | pafrtl
want wants wanted - | veux veut voulons voulez veulent voulu vouloir voudr | pa | afqt
find finds found - | trouver | pa | pafqtl
look_for looks_for looked_for looking_for | chercher | pa | pafqtl
buy buys bought buying | achète achète achetons achetez achètent acheté acheter achèter | p | afqt
sell sells sold selling | vends vend vendons vendez vendent vendu vendre | p | afqtl
eat eats ate eating | manger | pa | f
read reads - reading | lis lit lisons lisez lisent lu lire | p | r+
write writes wrote writing | écris écrit écrivons écrivez écrivent écrit écrire | p | r+
translate translates translated translating | traduis traduit traduisons traduisez traduisent traduit traduire | p | r+
learn learns learned learning | apprends apprend apprenons apprenez apprennent appris apprendre | p | h+
understand understands understood - | comprends comprend comprenons comprenez comprennent compris comprendre | p | pr+
draw draws drew drawing | dessiner | p | paftl+
carry carries carried carrying | porter | pa | fqt
open opens opened opening | ouvre ouvre ouvrons ouvrez ouvrent ouvert ouvrir | p | o
close closes closed closing | fermer | p | o
build builds built building | construis construit construisons construisez construisent construit construire | p | b+
hear hears heard - | entends entend entendons entendez entendent entendu entendre | pa | pah
help helps helped helping | aider | p | pa
follow follows followed following | suis suit suivons suivez suivent suivi suivre | pa | pa
wash washes washed washing | laver | p | aw
lose loses lost losing | perds perd perdons perdez perdent perdu perdre | p | qt
use uses used using | utiliser | p | x
know knows knew - | connais connaît connaissons connaissez connaissent connu connaître | p | prl
describe describes described describing | décris décrit décrivons décrivez décrivent décrit décrire | p | paftrl+
have has had - | ai a avons avez ont eu avoir aur | p | afqtl
give gives gave giving | donner | p | afqt
show shows showed showing | montrer | p | afqtl
send sends sent sending | envoie envoie envoyons envoyez envoient envoyé envoyer enverr | p | qt
sleep sleeps slept sleeping | dors dort dormons dormez dorment dormi dormir | pa | -
sing sings sang singing | chanter | pa | -
work works worked working | travailler | p | -
run runs ran running | cours court courons courez courent couru courir courr | pa | -
swim swims swam swimming | nager | pa | -
play plays played playing | jouer | pa | -
speak speaks spoke speaking | parler | p | -
think thinks thought - | penser | p | that
say says said - | dis dit disons dites disent dit dire | p | that
know knows knew - | sais sait savons savez savent su savoir saur | p | that
believe believes believed - | crois croit croyons croyez croient cru croire | p | that
can can - - | peux peut pouvons pouvez peuvent pu pouvoir pourr | pa | infinitive
must must - - | dois doit devons devez doivent dû devoir devr | pa | infinitive
want wants wanted - | veux veut voulons voulez veulent voulu vouloir voudr | pa | infinitive
"""

# English with its comparative (- for none, "more" before it: +), the French masculine, that before a vowel, feminine,
# and the plurals; classes of what can be so; < stands before its noun.
ADJECTIVES = """
big bigger | grand grand grande grands grandes | zatl <
small smaller | petit petit petite petits petites | zatlf <
beautiful + | beau bel belle beaux belles | zatlr <
old older | vieux vieil vieille vieux vieilles | patlr <
new - | nouveau nouvel nouvelle nouveaux nouvelles | trl <
young younger | jeune jeune jeune jeunes jeunes | pa <
red - | rouge rouge rouge rouges rouges | tof
blue - | bleu bleu bleue bleus bleues | to
green - | vert vert verte verts vertes | tof
white - | blanc blanc blanche blancs blanches | atol
expensive + | cher cher chère chers chères | tlf
happy happier | heureux heureux heureuse heureux heureuses | pa
sad sadder | triste triste triste tristes tristes | par
tired - | fatigué fatigué fatiguée fatigués fatiguées | pa
strong stronger | fort fort forte forts fortes | pa
famous + | célèbre célèbre célèbre célèbres célèbres | prl
wonderful - | merveilleux merveilleux merveilleuse merveilleux merveilleuses | patrlf
slow slower | lent lent lente lents lentes | pam
interesting + | intéressant intéressant intéressante intéressants intéressantes | prl
easy easier | facile facile facile faciles faciles | r
difficult + | difficile difficile difficile difficiles difficiles | r
important + | important important importante importants importantes | pr
useful + | utile utile utile utiles utiles | xr
"""

# Classes of nouns they go with.
PREPOSITIONS = """
in | dans | i
on | sur | u
under | sous | v
behind | derrière | ln
near | près de | ln
in front of | devant | ln
"""

ASPIRATED = {"héros", "hibou", "hiboux"}  # no elision before these


class Noun:
    def __init__(self, line):
        english, french, rest = (x.split() for x in line.split("|"))
        self.english, self.french, self.gender = english, french, rest[0]
        self.classes = set(rest[1:])
        self.lemma = english[0]
        self.forms = set(english)


class Verb:
    def __init__(self, line):
        english, french, self.subjects, self.objects = (x.strip() for x in line.split("|"))
        english, french = english.split(), french.split()
        self.base, self.third, self.past, self.ing = (None if x == "-" else x.replace("_", " ") for x in english)
        self.forms = {x.split("_")[0] for x in english} - {"-"}
        if len(french) == 1:
            root = french[0][:-2]
            ons = "eons" if root.endswith("g") else "ons"
            french = [root + end for end in ("e", "e", ons, "ez", "ent", "é")] + french
        if len(french) == 7:
            french.append(french[6].rstrip("e"))
        *self.present, self.participle, self.infinitive, self.stem = french


class Adjective:
    def __init__(self, line):
        english, french, rest = (x.split() for x in line.split("|"))
        self.english, comparative = english
        self.comparative = {"-": None, "+": ["more", self.english]}.get(comparative, [comparative])
        self.french = french
        self.classes, self.before = set(rest[0]), rest[-1] == "<"

    def agree(self, gender, plural):
        masculine, _, feminine, masculines, feminines = self.french
        if gender == "m" and not plural and self.before:
            return tuple(self.french[:2])  # the one before a consonant, before a vowel
        return {"m": (masculine, masculines), "f": (feminine, feminines)}[gender][plural]


def table(make, text):
    return [make(line) for line in text.strip().splitlines()]


NOUN = table(Noun, NOUNS)
VERB = table(Verb, VERBS)
ADJECTIVE = table(Adjective, ADJECTIVES)
PREDICATE = [a for a in ADJECTIVE if a.english != "new"]  # nouveau, and neuf
PREPOSITION = [[x.strip() for x in line.split("|")] for line in PREPOSITIONS.strip().splitlines()]
SPECIAL = {"that", "infinitive", "-"}
TRANSITIVE = [v for v in VERB if v.objects not in SPECIAL]
INTRANSITIVE = [v for v in VERB if v.objects == "-"]
SAYING = [v for v in VERB if v.objects == "that"]
MODAL = [v for v in VERB if v.objects == "infinitive"]
GIVING = [v for v in VERB if v.base in ("give", "show", "send")]
LASTING = {"love", "know", "want", "have"}  # their past would be the imparfait, and "des" after them "les"

# Subjects: English, French, person (0 je, 1 il, 2 nous, 3 vous, 4 ils), gender, plural; "to be" in both.
PRONOUNS = [("I", "je", 0, "m", 0), ("you", "vous", 3, "m", 0), ("he", "il", 1, "m", 0), ("she", "elle", 1, "f", 0),
            ("we", "nous", 2, "m", 1), ("they", "ils", 4, "m", 1)]
OBJECTS = [("me", "me"), ("you", "vous"), ("him", "@le"), ("her", "@la"), ("us", "nous"), ("them", "@les")]
BE = ["suis", "est", "sommes", "êtes", "sont"]
WAS = ["étais", "était", "étions", "étiez", "étaient"]
HAVE = ["ai", "a", "avons", "avez", "ont"]
FUTURE = ["ai", "a", "ons", "ez", "ont"]

# ==== French as it sounds =========================================================================================

ELIDED = {"le": "l'", "la": "l'", "@le": "l'", "@la": "l'", "de": "d'", "que": "qu'", "ne": "n'", "je": "j'",
          "me": "m'"}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def is_vowel(word):
    return word.lower()[0] in "aàâeéèêiîoôuûyœh" and word not in ASPIRATED


def sound(words):
    """Words become text: elision, contraction, the forms before a vowel. "@le" is the pronoun, which contracts with
    nothing; a pair is a word before a consonant and before a vowel."""
    out = []
    for word in reversed(words):
        vowel = bool(out) and is_vowel(out[-1])
        if isinstance(word, tuple):
            word = word[vowel]
        if vowel:
            word = BEFORE_VOWEL.get(word, word)
            word = ELIDED.get(word, word)
        if out and (word, out[-1]) in CONTRACTED:
            word = CONTRACTED[word, out.pop()]
        if word.endswith("'"):
            word += out.pop()
        out.append(word)
    return " ".join(reversed(out)).replace("@", "").replace(" ,", ",")


# ==== Chance ======================================================================================================


class Chance:
    """Numbers that are the same wherever this runs: xorshift64*, Vigna 2016."""

    def __init__(self, seed):
        self.state = seed or 1

    def below(self, n):
        x = self.state
        x ^= x >> 12
        x ^= (x << 25) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.state = x
        return ((x * 0x2545F4914F6CDD1D & 0xFFFFFFFFFFFFFFFF) >> 32) * n >> 32

    def one(self, xs):
        return xs[self.below(len(xs))]

    def percent(self, p):
        return self.below(100) < p

    def weighted(self, xs):
        """Of pairs (what, weight)."""
        x = self.below(sum(w for _, w in xs))
        for what, weight in xs:
            x -= weight
            if x < 0:
                return what


# ==== Phrases =====================================================================================================


class Phrase:
    """A noun phrase in both languages, and what agrees with it. clitic: its French if that stands before the verb."""

    def __init__(self, english, french, person=1, gender="m", plural=0, nouns=(), clitic=None):
        self.english, self.french, self.person, self.gender, self.plural = english, french, person, gender, plural
        self.nouns, self.clitic = nouns, [clitic] if clitic else []

    def negated(self):
        """The object of a verb with "not"."""
        english = ["any"] + self.english[1:] if self.english[:1] == ["some"] else self.english
        french = ["de"] + self.french[1:] if self.french[:1] in (["un"], ["une"], ["des"]) else self.french
        return Phrase(english, french, self.person, self.gender, self.plural, self.nouns)

    @property
    def is_every(self):
        return self.english[:1] == ["every"]


NOTHING = Phrase([], [])


class Clause:
    """A subject with its verb and its object, which each language states or asks. rest: what follows, in both. adverb:
    what stands at the verb, in both. short: don't for do not."""

    def __init__(self, subject, verb, object=NOTHING, rest=([], []), tense="present", negative=False, adverb=None,
                 modal=None, short=False):
        self.subject, self.verb, self.object, self.rest = subject, verb, object, rest
        self.tense, self.negative, self.adverb, self.modal, self.short = tense, negative, adverb, modal, short
        if negative and not object.clitic:
            self.object = object.negated()

    # ---- English ----

    def finite(self, verb):
        return verb.third if self.subject.person == 1 else verb.base

    def auxiliary(self):
        """What turns the statement into a question and takes "not"; and the verb after it."""
        person = self.subject.person
        be = "am" if person == 0 else "is" if person == 1 else "are"
        base = [self.verb.base]
        if self.modal and self.modal.base != "want":
            return self.modal.base, base
        if self.modal:
            return "does" if person == 1 else "do", ["want", "to"] + base
        return {"present": ("does" if person == 1 else "do", base), "continuous": (be, [self.verb.ing]),
                "past": ("did", base), "future": ("will", base)}[self.tense]

    def contracted(self, auxiliary):
        """Don't for do not; None where it is not so said."""
        shorts = {"will": "won't", "can": "can't", "am": None, "must": None}
        return shorts.get(auxiliary, auxiliary + "n't") if self.negative and self.short else None

    def english(self):
        auxiliary, verb = self.auxiliary()
        if self.negative:
            short = self.contracted(auxiliary)
            no = [short] if short else ["cannot"] if auxiliary == "can" else [auxiliary, "not"]
            group = no + verb
        elif auxiliary in ("do", "does", "did"):
            if self.modal:
                group = [self.finite(self.modal), "to", self.verb.base]
            else:
                group = [self.verb.past if self.tense == "past" else self.finite(self.verb)]
            group = ([self.adverb[0]] if self.adverb else []) + group
        else:
            group = [auxiliary] + verb
        return self.subject.english + group + self.object.english + self.rest[0]

    def english_question(self):
        auxiliary, verb = self.auxiliary()
        short = self.contracted(auxiliary)
        no = ["not"] if self.negative and not short else []
        return [short or auxiliary] + self.subject.english + no + verb + self.object.english + self.rest[0]

    # ---- French ----

    def french_verb(self):
        person, verb, clitic = self.subject.person, self.verb, self.object.clitic
        ne, pas = (["ne"], ["pas"]) if self.negative else ([], [])
        if self.modal:
            return ne + [self.modal.present[person]] + pas + clitic + [verb.infinitive]
        if self.tense == "past":
            return ne + [HAVE[person]] + pas + [verb.participle]
        if self.tense == "future":
            return ne + clitic + [verb.stem + FUTURE[person]] + pas
        return ne + clitic + [verb.present[person]] + pas + ([self.adverb[1]] if self.adverb else [])

    def french(self):
        return self.subject.french + self.french_verb() + self.object.french + self.rest[1]

    def french_question(self):
        return ["est-ce", "que"] + self.french()


def article(word):
    return "an" if word[0] in "aeiou" and word != "useful" else "a"


def possessive(word):
    return word + ("'" if word.endswith("s") else "'s")


# Determiners: English (* is a, an), French, how often.
SINGULAR = [("the", ("le", "la"), 46), ("*", ("un", "une"), 26), ("this", ("ce", "cette"), 8), ("my", ("mon", "ma"), 8),
            ("your", ("votre", "votre"), 3), ("his", ("son", "sa"), 3), ("her", ("son", "sa"), 3),
            ("our", ("notre", "notre"), 3), ("their", ("leur", "leur"), 3)]
PLURAL = [("the", ("les",), 46), ("some", ("des",), 12), ("these", ("ces",), 8), ("my", ("mes",), 6),
          ("your", ("vos",), 3), ("his", ("ses",), 3), ("her", ("ses",), 3), ("our", ("nos",), 3),
          ("their", ("leurs",), 3), ("two", ("deux",), 6), ("three", ("trois",), 5), ("many", ("beaucoup", "de"), 4)]

EASY = [("easy", "facile", 8), ("difficult", "difficile", 4), ("wonderful", "merveilleux", 3),
        ("possible", "possible", 2), ("important", "important", 2), ("interesting", "intéressant", 2),
        ("useful", "utile", 2)]

# Written by hand: the notebook's sentence, and what a grammar does not say.
BY_HAND = [
    ("It is easy to translate languages with transformers",
     "Il est facile de traduire des langues à l'aide de transformateurs"),
    ("Hello.", "Bonjour."),
    ("Hello!", "Bonjour !"),
    ("Good morning.", "Bonjour."),
    ("Good night.", "Bonne nuit."),
    ("Goodbye.", "Au revoir."),
    ("See you tomorrow.", "À demain."),
    ("Thank you.", "Merci."),
    ("Thank you very much.", "Merci beaucoup."),
    ("How are you?", "Comment allez-vous ?"),
    ("I am well, thank you.", "Je vais bien, merci."),
    ("Welcome!", "Bienvenue !"),
    ("Yes.", "Oui."),
    ("No.", "Non."),
    ("The weather is nice today.", "Il fait beau aujourd'hui."),
    ("Long live the queen!", "Vive la reine !"),
    ("Long live the king!", "Vive le roi !"),
]


class Grammar:
    """Says sentences at random. Each pattern returns English words, French words, and the mark at their end, and leaves
    in `said` the subject, verb and object of every clause that has them."""

    def __init__(self, seed):
        self.chance = Chance(seed)
        self.said = []

    # ---- noun phrases ----

    def noun(self, classes, but=()):
        return self.chance.one([n for n in NOUN if n.classes & set(classes) and n not in but])

    def names(self, plural, *but):
        """Determiners and how often they are to come."""
        return [(x[0], x[2]) for x in (PLURAL if plural else SINGULAR) if x[0] not in but]

    def determined(self, noun, plural, name, adjective=None):
        """A noun behind its determiner, perhaps with an adjective."""
        agreed = [adjective.agree(noun.gender, plural)] if adjective else []
        french = agreed + [noun.french[plural]] if adjective and adjective.before else [noun.french[plural]] + agreed
        english = ([adjective.english] if adjective else []) + [noun.english[plural]]
        its = [x for x in (PLURAL if plural else SINGULAR) if x[0] == name][0][1]
        its = list(its) if plural else [its[noun.gender == "f"]]
        if its == ["des"] and adjective and adjective.before:
            its = ["de"]
        return Phrase([article(english[0]) if name == "*" else name] + english, its + french, 4 if plural else 1,
                      noun.gender, plural, [noun])

    def phrase(self, noun, plural=None, names=None, adjectives=16, owners=5):
        """The same with everything left to chance that is not given; or the king's house."""
        chance = self.chance
        plural = chance.percent(35) if plural is None else plural
        fitting = [a for a in ADJECTIVE if a.classes & noun.classes]
        adjective = chance.one(fitting) if fitting and chance.percent(adjectives) else None
        if not names and chance.percent(owners):
            owner = self.determined(self.noun("p", [noun]), chance.percent(25), chance.one(["the", "the", "my", "our"]))
            thing = self.determined(noun, plural, "the", adjective)
            *start, end = owner.english
            return Phrase(start + [possessive(end)] + thing.english[1:], thing.french + ["de"] + owner.french,
                          thing.person, thing.gender, plural, [noun])
        return self.determined(noun, plural, chance.weighted(names or self.names(plural)), adjective)

    def bare(self, noun):
        """Languages: des langues."""
        return Phrase([noun.english[1]], ["des", noun.french[1]], 4, noun.gender, 1, [noun])

    def pronoun(self):
        english, french, person, gender, plural = self.chance.one(PRONOUNS)
        return Phrase([english], [french], person, gender, plural)

    def subject(self, verb, pronouns=20):
        chance = self.chance
        if chance.percent(pronouns):
            return self.pronoun()
        classes = "a" if "a" in verb.subjects and chance.percent(45) else "p"
        noun = self.noun(classes)
        if chance.percent(7):  # the cat and the dog
            one = self.phrase(noun, adjectives=0, owners=0, names=[("the", 1)])
            other = self.phrase(self.noun(classes, [noun]), adjectives=0, owners=0, names=[("the", 1)])
            return Phrase(one.english + ["and"] + other.english, one.french + ["et"] + other.french, 4,
                          "f" if one.gender == other.gender == "f" else "m", 1, one.nouns + other.nouns)
        if chance.percent(4):
            return Phrase(["every", noun.english[0]], ["chaque", noun.french[0]], 1, noun.gender, 0, [noun])
        return self.phrase(noun, adjectives=12)

    def object(self, verb, subject, pronouns=0):
        chance = self.chance
        if "p" in verb.objects and chance.percent(pronouns):
            itself = {"I": "me us", "we": "me us", "you": "you", "they": "them", "he": "him", "she": "her"}
            same = itself.get(subject.english[0], "").split()
            english, french = chance.one([x for x in OBJECTS if x[0] not in same])
            return Phrase([english], [], clitic=french)
        classes = "p" if "p" in verb.objects and chance.percent(25) else verb.objects
        noun = self.noun(classes, subject.nouns)
        if verb.base not in LASTING and noun.classes & set("rm") and chance.percent(10):
            return self.bare(noun)
        if verb.base in ("love", "know"):  # the French would say all of them
            plural = chance.percent(35)
            return self.phrase(noun, plural, self.names(plural, "*", "some"))
        return self.phrase(noun)

    # ---- what goes with a verb ----

    def place(self, around=False):
        """Where something is; or where something is done to something else."""
        chance = self.chance
        english, french, classes = chance.one([x for x in PREPOSITION if not around or x[0] not in ("on", "under")])
        noun = chance.one([n for n in NOUN if n.classes & set(classes)])
        names = [("the", 6), ("*", 2), ("my", 1), ("our", 1)] if not chance.percent(10) else [("the", 1)]
        place = self.phrase(noun, int(len(names) == 1), names, 6)
        return english.split() + place.english, french.split() + place.french

    def tool(self, verb):
        """With transformers: à l'aide de transformateurs."""
        noun = self.noun("m" if "r" in verb.objects else "e")
        if self.chance.percent(55):
            return ["with", noun.english[1]], ["à", "l'aide", "de", noun.french[1]]
        tool = self.phrase(noun, 0, [("the", 2), ("*", 2), ("my", 1), ("this", 1)], 8)
        return ["with"] + tool.english, ["à", "l'aide", "de"] + tool.french

    def rest(self, verb, tense, places=12):
        chance = self.chance
        rest = ([], [])
        if "+" in verb.objects and chance.percent(22):
            rest = self.tool(verb)
        elif verb.objects == "-" and chance.percent(45) or verb.ing and chance.percent(places):
            rest = self.place(verb.objects != "-")
        if chance.percent(12):
            time = {"past": ("yesterday", "hier"), "future": ("tomorrow", "demain")}.get(tense)
            time = time or chance.one([("today", "aujourd'hui"), ("here", "ici"), ("now", "maintenant")])
            rest = rest[0] + [time[0]], rest[1] + [time[1]]
        return rest

    def clause(self, verbs=TRANSITIVE, subject=None, negative=25, tenses=None, pronouns=8, tail=True):
        chance = self.chance
        verb = chance.one([v for v in verbs if not subject or all(n.classes & set(v.subjects) for n in subject.nouns)])
        subject = subject or self.subject(verb)
        modal = None
        tense = chance.weighted(tenses or [("present", 50), ("continuous", 14), ("past", 16), ("future", 8),
                                           ("modal", 12)])
        if tense == "continuous" and not verb.ing or tense == "past" and (not verb.past or verb.base in LASTING):
            tense = "present"
        if tense == "modal":
            tense, modal = "present", chance.one(MODAL)
            if verb.base in LASTING:
                modal = None
        object = NOTHING
        if verb.objects != "-":
            object = self.object(verb, subject, 0 if tense == "past" else pronouns)
        negative = chance.percent(negative) and not subject.is_every
        adverb = None
        if tense == "present" and not negative and not modal and verb.base not in LASTING and chance.percent(10):
            adverb = chance.one([("often", "souvent"), ("always", "toujours")])
        rest = self.rest(verb, tense) if tail and not adverb and not object.clitic else ([], [])
        self.said += [(s, verb, o) for s in subject.nouns for o in object.nouns]
        return Clause(subject, verb, object, rest, tense, negative, adverb, modal, chance.percent(35))

    def be(self, subject, past=False):
        person = subject.person
        if past:
            return "was" if person in (0, 1) else "were", WAS[person]
        return "am" if person == 0 else "is" if person == 1 else "are", BE[person]

    def fitting(self, subject):
        classes = subject.nouns[0].classes if subject.nouns else {"p"}
        return [a for a in PREDICATE if a.classes & classes or "z" in a.classes and "p" in classes]

    def quality(self, subject):
        """An adjective that a subject may have, in agreement: English, French."""
        adjective = self.chance.one(self.fitting(subject))
        french = adjective.agree(subject.gender, subject.plural)
        very = self.chance.percent(20)
        return (["very"] * very + [adjective.english],
                ["très"] * very + [french[0] if isinstance(french, tuple) else french])

    def thing(self, adjectives=4, classes="pafrtl"):
        """A subject of "to be": anybody, anything."""
        return self.pronoun() if self.chance.percent(15) else self.phrase(self.noun(classes), adjectives=adjectives)

    # ---- patterns ----

    def statement(self):
        clause = self.clause()
        return clause.english(), clause.french(), "."

    def question(self):
        clause = self.clause(negative=12)
        clause.adverb = None
        return clause.english_question(), clause.french_question(), "?"

    def intransitive(self):
        clause = self.clause(INTRANSITIVE)
        if self.chance.percent(25) and not clause.negative:
            clause.adverb = None
            return clause.english_question(), clause.french_question(), "?"
        return clause.english(), clause.french(), "."

    def who(self):
        """Who sees the cat?"""
        clause = self.clause(subject=Phrase(["who"], ["qui"]), negative=10)
        return clause.english(), clause.french(), "?"

    def what(self):
        """What does the man see?"""
        verbs = [v for v in TRANSITIVE if set(v.objects) - set("pa+")]
        clause = self.clause(verbs, negative=0, pronouns=0)
        clause.object, clause.rest, clause.adverb, self.said = NOTHING, ([], []), None, []
        return ["what"] + clause.english_question(), ["qu'est-ce", "que"] + clause.french(), "?"

    def why(self):
        """Why, when, where does the man sing?"""
        english, french = self.chance.one([("why", "pourquoi"), ("when", "quand"), ("where", "où")])
        clause = self.clause(INTRANSITIVE if self.chance.percent(60) else TRANSITIVE, negative=0, tail=False)
        clause.adverb = None
        return [english] + clause.english_question(), [french] + clause.french_question(), "?"

    def where(self):
        """Where is the cat?"""
        chance = self.chance
        names = [(x, 5 if x == "the" else 1) for x in ("the", "my", "your", "his", "her", "our", "their")]
        subject = self.pronoun() if chance.percent(15) else self.phrase(self.noun("pafqtl"), names=names, adjectives=8)
        english, french = self.be(subject)
        its = [french] + subject.french if subject.nouns else [french + "-" + subject.french[0]]
        return ["where", english] + subject.english, ["où"] + its, "?"

    def is_so(self):
        """The house is big."""
        subject, past = self.thing(0), self.chance.percent(15)
        if self.chance.percent(12):
            subject = self.subject(INTRANSITIVE[0])
        be, french = self.be(subject, past)
        quality, so = self.quality(subject)
        if self.chance.percent(20):
            return [be] + subject.english + quality, ["est-ce", "que"] + subject.french + [french] + so, "?"
        if self.chance.percent(20) and not subject.is_every:
            no = [be + "n't"] if be != "am" and self.chance.percent(35) else [be, "not"]
            return subject.english + no + quality, subject.french + ["ne", french, "pas"] + so, "."
        return subject.english + [be] + quality, subject.french + [french] + so, "."

    def is_there(self):
        """The cat is under the table."""
        subject, place, past = self.thing(4, "pafqt"), self.place(), self.chance.percent(15)
        be, french = self.be(subject, past)
        if self.chance.percent(25):
            return [be] + subject.english + place[0], ["est-ce", "que"] + subject.french + [french] + place[1], "?"
        no = self.chance.percent(15)
        return (subject.english + [be] + ["not"] * no + place[0],
                subject.french + ["ne"] * no + [french] + ["pas"] * no + place[1], ".")

    def compared(self):
        """The house is bigger than the tree."""
        one = self.thing(0)
        adjective = self.chance.one(self.fitting(one))
        other = self.phrase(self.noun(adjective.classes, one.nouns), adjectives=0)
        be, french = self.be(one)
        so = adjective.agree(one.gender, one.plural)
        so = so[0] if isinstance(so, tuple) else so
        if adjective.comparative and self.chance.percent(70):
            return (one.english + [be] + adjective.comparative + ["than"] + other.english,
                    one.french + [french, "plus", so, "que"] + other.french, ".")
        return (one.english + [be, "as", adjective.english, "as"] + other.english,
                one.french + [french, "aussi", so, "que"] + other.french, ".")

    def there_is(self):
        """There is a bird in the tree."""
        chance = self.chance
        plural = chance.percent(50)
        names = [("some", 3), ("two", 2), ("three", 2), ("many", 2)] if plural else [("*", 1)]
        kind = chance.weighted([("is", 60), ("not", 20), ("question", 20)])
        if kind == "not":
            names = [("some", 1)] if plural else names
        what, place = self.phrase(self.noun("pafrt"), plural, names, 10), self.place()
        be = "are" if plural else "is"
        english, french = what.english + place[0], what.french + place[1]
        if kind == "not":
            return ["there", be, "no"] + english[1:], ["il", "n'y", "a", "pas"] + what.negated().french + place[1], "."
        if kind == "question":
            return [be, "there"] + english, ["est-ce", "que", "il", "y", "a"] + french, "?"
        return ["there", be] + english, ["il", "y", "a"] + french, "."

    def it_is(self):
        """It is a big house."""
        plural = self.chance.percent(25)
        what = self.phrase(self.noun("pafrtol"), plural, self.names(plural, "this", "these", "many"), 45)
        if plural:
            return ["these", "are"] + what.english, ["ce", "sont"] + what.french, "."
        kind = self.chance.weighted([("is", 60), ("not", 20), ("question", 20)])
        it = self.chance.one(["it", "this"])
        if kind == "not":
            return [it, "is", "not"] + what.english, ["ce", "n'est", "pas"] + what.french, "."
        if kind == "question":
            return ["is", it] + what.english, ["est-ce", "que", "c'est"] + what.french, "?"
        return [it, "is"] + what.english, ["c'est"] + what.french, "."

    def who_is_so(self):
        """The man who reads the book is happy."""
        classes = self.chance.one("ppa")
        head = self.phrase(self.noun(classes), names=[("the", 1)], adjectives=0)
        clause = self.clause(subject=head, negative=15, tenses=[("present", 75), ("past", 25)], tail=False)
        who = "who" if classes == "p" else "that"
        clause.subject = Phrase(head.english + [who], head.french + ["qui"], head.person)
        be, french = self.be(head)
        quality, so = self.quality(head)
        return clause.english() + [be] + quality, clause.french() + [french] + so, "."

    def that_is_so(self):
        """The book that the man reads is old."""
        clause = self.clause(negative=15, tenses=[("present", 1)], pronouns=0, tail=False)
        head = self.determined(clause.object.nouns[0], clause.object.plural, "the")
        clause.object = NOTHING
        be, french = self.be(head)
        quality, so = self.quality(head)
        return (head.english + ["that"] + clause.english() + [be] + quality,
                head.french + ["que"] + clause.french() + [french] + so, ".")

    def says_that(self):
        """The man thinks that the cat sleeps."""
        verb = self.chance.one(SAYING)
        main = Clause(self.subject(verb, 30), verb)
        said = [(self.statement, 60), (self.intransitive, 25), (self.is_so, 15)]
        english, french, mark = self.chance.weighted(said)()
        if mark == "?":
            self.said = []
            return self.says_that()
        return main.english() + ["that"] + english, main.french() + ["que"] + french, "."

    def two(self):
        """The girl is happy because the cat sleeps."""
        simple = [(self.statement, 50), (self.intransitive, 25), (self.is_so, 25)]
        one, other = (self.chance.weighted(simple)() for _ in "ab")
        if "?" in (one[2], other[2]) or len(one[0]) + len(other[0]) > 16:
            self.said = []
            return self.two()
        english, french = self.chance.one([("because", ["parce", "que"]), ("and", ["et"]), ("but", ["mais"])])
        return one[0] + [english] + other[0], one[1] + french + other[1], "."

    def gives(self):
        """The man gives the book to the girl."""
        clause = self.clause(GIVING, negative=15, pronouns=0, tail=False)
        whom = self.phrase(self.noun("pa", clause.subject.nouns), names=[("the", 5), ("my", 1)], adjectives=6)
        clause.rest = ["to"] + whom.english, ["à"] + whom.french
        if self.chance.percent(15) and not clause.negative:
            clause.adverb = None
            return clause.english_question(), clause.french_question(), "?"
        return clause.english(), clause.french(), "."

    def orders(self):
        """Open the door!"""
        verb = self.chance.one([v for v in TRANSITIVE + INTRANSITIVE if v.ing])
        no = self.chance.percent(20)
        object = self.object(verb, NOTHING) if verb.objects != "-" else NOTHING
        object = object.negated() if no else object
        rest = self.rest(verb, "present", 20)
        french = ["ne"] * no + [verb.present[3]] + ["pas"] * no + object.french + rest[1]
        english = ["do", "not"] * no + [verb.base] + object.english + rest[0]
        if self.chance.percent(30):
            return ["please"] + english, french + [",", "s'il", "vous", "plaît"], "."
        return english, french, "!"

    def easy(self):
        """It is easy to translate languages with transformers."""
        chance = self.chance
        notebook = chance.percent(45)
        verb = chance.one([v for v in TRANSITIVE if "+" in v.objects and "r" in v.objects] if notebook else
                          [v for v in TRANSITIVE + INTRANSITIVE if v.base not in LASTING])
        object, rest = self.object(verb, NOTHING) if verb.objects != "-" else NOTHING, ([], [])
        if notebook and chance.percent(60):
            object = self.bare(self.noun("r"))
        if "+" in verb.objects and chance.percent(60):
            rest = self.tool(verb)
        elif chance.percent(25):
            rest = self.place(verb.objects != "-")
        english, french = chance.weighted([((e, f), w) for e, f, w in EASY])
        very = chance.percent(12) and english != "possible"
        english, french = ["very"] * very + [english], ["très"] * very + [french]
        kind = chance.weighted([("is", 62), ("not", 16), ("question", 12), ("was", 10)])
        whom = ([], [])
        if chance.percent(15):
            someone = self.phrase(self.noun("p"), names=[("the", 1)], adjectives=6)
            whom = ["for"] + someone.english, ["pour"] + someone.french
            self.said += [(someone.nouns[0], verb, o) for o in object.nouns]
        end = whom[0] + ["to", verb.base] + object.english + rest[0]
        fin = whom[1] + ["de", verb.infinitive] + object.french + rest[1]
        if kind == "not":
            no = ["isn't"] if chance.percent(35) else ["is", "not"]
            return ["it"] + no + english + end, ["il", "ne", "est", "pas"] + french + fin, "."
        if kind == "question":
            return ["is", "it"] + english + end, ["est-ce", "que", "il", "est"] + french + fin, "?"
        be = ["it", "was"] if kind == "was" else ["it's"] if chance.percent(15) else ["it", "is"]
        return be + english + end, ["il", "était" if kind == "was" else "est"] + french + fin, "."

    def with_tools(self):
        """The students translate languages with transformers."""
        clause = self.clause([v for v in TRANSITIVE if "+" in v.objects], negative=15, pronouns=0, tail=False)
        clause.rest, clause.adverb = self.tool(clause.verb), None
        if self.chance.percent(15) and not clause.negative:
            return clause.english_question(), clause.french_question(), "?"
        return clause.english(), clause.french(), "."

    PATTERNS = [
        (statement, 26), (question, 9), (intransitive, 7), (who, 3), (what, 3), (why, 3), (where, 2), (is_so, 8),
        (is_there, 4), (compared, 3), (there_is, 4), (it_is, 3), (who_is_so, 3), (that_is_so, 3), (says_that, 4),
        (two, 4), (gives, 4), (orders, 4), (easy, 12), (with_tools, 5),
    ]

    # ---- sentences ----

    def sentence(self):
        """English, French, and the set of its clauses: subject, verb, object."""
        chance = self.chance
        self.said = []
        english, french, mark = chance.weighted(self.PATTERNS)(self)
        english, french = " ".join(english), sound(french)
        bare = mark == "." and chance.percent(14)
        if not (bare and chance.percent(40) and english.split()[0] not in ("I", "I'm")):
            english, french = english[0].upper() + english[1:], french[0].upper() + french[1:]
        if not bare:
            english, french = english + mark, french + ("." if mark == "." else " " + mark)
        return english, french, {(s.lemma, v.base, o.lemma) for s, v, o in self.said}


# ==== The corpus, and what is held out of it ========================================================================


def words(english):
    """The words of a text: plain, whoever they belong to."""
    return {re.sub("'s?$", "", w) for w in re.findall("[a-z']+", english.lower())}


NOUN_OF = {form: n.lemma for n in NOUN for form in n.forms}
VERB_OF = {form: v.base for v in VERB for form in v.forms}


def combinations(english):
    """Every subject, verb and object that words of a text could be, in whatever order they stand."""
    found = words(english)
    nouns, verbs = {NOUN_OF[w] for w in found & NOUN_OF.keys()}, {VERB_OF[w] for w in found & VERB_OF.keys()}
    return {(s, v, o) for s in nouns for v in verbs for o in nouns if s != o}


def make_held_out():
    """The lines of held_out.tsv."""
    grammar, lines = Grammar(SEED), {}
    while len(lines) < HELD_OUT:
        english, french, said = grammar.sentence()
        if said:
            lines.setdefault(english, "\t".join((english, french, "; ".join(" ".join(c) for c in sorted(said)))))
    return list(lines.values())


def read_held_out():
    """Pairs: an English sentence, its clauses (subject, verb, object)."""
    with open(FILE, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    clauses = [[c.split() for c in line[2].split("; ")] for line in lines]
    return [(line[0], [(s, " ".join(v), o) for s, *v, o in cs]) for line, cs in zip(lines, clauses)]


def corpus(count):
    """`count` pairs of an English sentence and its French: each hundredth is one of those written by hand, in turn, the
    others are all different."""
    grammar, seen = Grammar(SEED + 1), set()
    held = {clause for _, clauses in read_held_out() for clause in clauses}
    for i in range(count):
        if i % 100 == 0:
            yield BY_HAND[i // 100 % len(BY_HAND)]
            continue
        while True:
            english, french, _ = grammar.sentence()
            if english not in seen and not held & combinations(english):
                break
        seen.add(english)
        yield english, french


def check(count):
    """What is wrong with held_out.tsv and the first `count` sentences of the corpus, or None."""
    with open(FILE, encoding="utf-8") as file:
        if file.read() != "".join(line + "\n" for line in make_held_out()):
            return "held_out.tsv is not what the grammar gives"
    nouns, verbs = {n.lemma: n.forms for n in NOUN}, {}
    for verb in VERB:
        verbs.setdefault(verb.base, set()).update(verb.forms)
    sentences = [english for english, _ in corpus(count)]
    where = {}  # which sentences hold a word
    for i, english in enumerate(sentences):
        for word in words(english):
            where.setdefault(word, set()).add(i)
    for english, clauses in read_held_out():
        for subject, verb, object in clauses:
            forms = nouns[subject], verbs[verb], nouns[object]
            if not all(words(english) & f for f in forms):
                return f"'{english}' in held_out.tsv does not hold {subject}, {verb}, {object}"
            for i in set.intersection(*(set.union(set(), *(where.get(w, set()) for w in f)) for f in forms)):
                return f"'{sentences[i]}' in the corpus holds {subject}, {verb}, {object} of '{english}' held out"
    return None


def main():
    action, *rest = sys.argv[1:] or [None]
    count = int(rest[0]) if len(rest) == 1 and rest[0].isdigit() else SENTENCES
    if action == "--corpus":
        with open(1, "w", encoding="utf-8", newline="\n", closefd=False) as out:
            out.writelines(f"{english}\t{french}\n" for english, french in corpus(count))
    elif action == "--check":
        sys.exit(check(count))
    elif action == "--held-out" and not rest:
        with open(FILE, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in make_held_out())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
