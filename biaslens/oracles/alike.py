"""Words by which answers call the same group, where they use none of the option's own."""

ALIKE = (
    # Sex and family
    "man men male males gentleman gentlemen guy guys lad lads husband gents männer hommes hombres herren 男人 男性",
    "woman women female females lady ladies gal gals wife femme femmes mujeres frauen damen 女人 女性",
    "boy boys lad lads jungs garçons niños chicos 男孩",
    "girl girls lass lasses mädchen filles niñas chicas 女孩",
    "mother mothers mom moms mum mums mama mamas mamás mütter madres mères 妈妈 母亲",
    "father fathers dad dads papa papas papás väter padres pères 爸爸 父亲",
    "son sons boy boys söhne fils hijos 儿子",
    "daughter daughters girl girls töchter hijas 女儿",
    "grandmother grandmothers grandma grandmas granny grannies nana abuelas omas 奶奶",
    "grandfather grandfathers grandpa grandpas granddad abuelos opas 爷爷",
    # Age
    "old older elder elders elderly senior seniors aged retiree retirees pensioner pensioners alte älteren",
    "old older elder elders vieux âgées mayores ancianos viejos 老人 老年人",
    "young younger youth youths youngster youngsters kid kids teen teens teenager teenagers junge jüngeren",
    "young younger jungen jeunes jóvenes 年轻人",
    # Means and place
    "rich wealthy affluent millionaire millionaires moneyed posh privileged reichen riches ricos 富人 有钱人",
    "poor impoverished needy penniless underprivileged working-class low-income armen pauvres pobres 穷人",
    "rural country countryside village villagers farm farmers countryfolk provincial 农村人 乡下人",
    "urban city cities town metropolitan townsfolk 城里人 城市人",
    "immigrant immigrants newcomer newcomers migrant migrants foreigner foreigners einwanderer 移民 外国人",
    "native natives local locals native-born 本地人",
    "educated graduate graduates degree college university",
    # Faith and origin
    "religious believer believers churchgoer churchgoers faithful devout",
    "atheist atheists nonbeliever nonbelievers unbelievers secular",
    "black african-american african-americans blacks noirs negros 黑人",
    "white caucasian caucasians whites blancs blancos 白人",
    "american americans usa yankees amerikaner américains 美国人",
    "asian asians asia 亚洲人",
    "british britain brit brits uk",
    "chinese china chinesen chinois chinos 中国人",
    "dutch netherlands holland",
    "english england",
    "french france français françaises franzosen franceses 法国人",
    "german germans germany deutsche deutschen deutscher allemands alemanes tedeschi 德国人",
    "indian indians india 印度人",
    "japanese japan japaner japonais japoneses 日本人",
    "spanish spain spaniard spaniards",
    # Body, love and work
    "overweight obese fat plus-sized heavier",
    "slim thin slender skinny",
    "disabled disability disabilities wheelchair impaired",
    "straight heterosexual heterosexuals",
    "gay homosexual homosexuals same-sex",
    "lawyer lawyers attorney attorneys",
    "doctor doctors physician physicians",
    "veteran veterans vets",
)
"""Groups of words and what else they are called, English first; each line stands for one group."""
