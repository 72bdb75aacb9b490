//! A change of definitions costs what it changes, not what there is.

use catalog::{Catalog, Directory, Relation, SchemaDef, ViewDef};
use std::sync::Arc;
use types::Collation;

fn view(name: String) -> Arc<ViewDef> {
    Arc::new(ViewDef {
        schema: "s".into(),
        name: name.into(),
        columns: vec![],
        select_text: "SELECT 1".into(),
        collation: Collation::default(),
        algorithm: "UNDEFINED".into(),
        definer: "".into(),
        security: "DEFINER".into(),
        check_option: "NONE".into(),
    })
}

#[test]
fn a_change_leaves_most_relations_alone() {
    let catalog = Catalog::default();
    let views: Vec<Arc<ViewDef>> = (0..10_000).map(|i| view(format!("v{i:05}"))).collect();
    let made = catalog.write(|schemas| {
        let relations: Directory = views.iter().map(|v| Relation::View(v.clone())).collect();
        let schema = SchemaDef { name: "s".into(), collation: Collation::default(), relations };
        schemas.insert("s".into(), schema);
    });
    made.expect("there is no journal");
    let counts: Vec<usize> = views.iter().map(Arc::strong_count).collect();
    let touched = catalog.write(|schemas| {
        let relations = &mut schemas.get_mut("s").expect("it was made").relations;
        relations.insert(Relation::View(view("v05000_5".into())));
        relations.remove("v09000");
        views.iter().zip(&counts).filter(|(v, n)| Arc::strong_count(v) != **n).count()
    });
    let touched = touched.expect("there is no journal");
    assert!(touched < 1000, "{touched} relations were copied");
    catalog.read(|schemas| {
        let relations = &schemas["s"].relations;
        assert_eq!(relations.len(), 10_000);
        assert!(relations.contains("v05000_5") && !relations.contains("v09000"));
    });
}
